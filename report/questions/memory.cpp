#include "ask/answer/answer.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/model/model_sections.hpp"
#include "report/model/operators_grid.hpp"
#include "report/question.hpp"
#include "report/train/process_section.hpp"
#include "report/train/training_sections.hpp"
#include "report/verdict.hpp"

namespace llmcalc {
namespace {

void fill_training(const TrainingAnswer& a, Report& report, std::string_view about) {
  report.sections = {training_memory_section(a), process_section(a), activations_section(a.request())};
  if (a.request().ops) report.grids.push_back(operators_grid(a.request(), Phase::training));
  add_training_fit(a, report, about);
  report.brief->bars.push_back(memory_bar(a, about));
}

void fill_inference(const Answer& answer, Report& report, std::string_view about) {
  const InferenceAnswer& a = answer.inference();
  report.sections.push_back(inference_memory_section(a));
  report.sections.push_back(kv_cache_section(a.request()));
  note_engine(answer.request(), report);
  add_inference_fit(a, report, about);
  report.brief->bars.push_back(memory_bar(a, about));
}

void fill_memory(const Answer& answer, Report& report) {
  const Request& r = answer.request();
  const bool training = r.has(part::training), inference = r.has(part::inference);
  report.brief = brief_of(r, training ? "memory.peak_bytes" : "inference_memory.peak_bytes", false);
  report.brief->rows = {"kv_cache.bytes_per_token", "kv_cache.bytes_per_sequence"};
  if (training) fill_training(answer.training(), report, inference ? "training" : "");
  if (inference) fill_inference(answer, report, training ? "inference" : "");
  if (r.ops && !training)
    for (const Phase phase : {Phase::prefill, Phase::decode}) report.grids.push_back(operators_grid(r, phase));
}

}  // namespace

const Question memory_question{
    .name = "memory",
    .summary = "Computes memory per GPU: weights, gradients, optimizer, activations, logits, KV cache, peak.",
    .examples =
        "  llmcalc memory llama-3.1-8b --train --seq 8Ki --recompute full --hardware h100\n"
        "  llmcalc memory llama-3.1-70b --infer --weight-precision q4_k --batch 16",
    .parts = part::training | part::process | part::of_inference | part::halves | part::hardware | part::operators |
             part::styles | part::exact | part::full,
    .fill = fill_memory};

}  // namespace llmcalc
