#include "ask/request/request.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/process_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_memory(const Request& r, Report& report) {
  const bool training = r.has(part::training), inference = r.has(part::inference);
  if (training) report.sections = {training_memory_section(r), process_section(r), activations_section(r)};
  if (inference) {
    const Request served = of_one_engine(r);
    report.sections.push_back(inference_memory_section(served));
    report.sections.push_back(kv_cache_section(served));
    note_engine(r, report);
  }
  if (r.ops && training) report.grids.push_back(operators_grid(r, Phase::training));
  if (r.ops && !training)
    for (const Phase phase : {Phase::prefill, Phase::decode}) report.grids.push_back(operators_grid(r, phase));
  if (training) add_training_fit(report, inference ? "training" : "");
  if (inference) report.verdict.push_back(fit_finding(report, "inference_memory", training ? "inference" : ""));
}

}  // namespace

const Question memory_question{
    .name = "memory",
    .summary = "Memory per GPU: weights, gradients, optimizer, activations, logits, KV cache, peak.",
    .examples =
        "  llmcalc memory llama-3.1-8b --train --seq 8Ki --recompute full --hardware h100\n"
        "  llmcalc memory llama-3.1-70b --infer --weight-precision q4_k --batch 16",
    .parts = part::training | part::process | part::of_inference | part::halves | part::hardware | part::operators |
             part::styles | part::exact,
    .fill = fill_memory};

}  // namespace llmcalc
