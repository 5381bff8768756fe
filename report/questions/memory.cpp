#include "report/conclusion.hpp"
#include "report/question.hpp"
#include "report/sections.hpp"

namespace llmcalc {
namespace {

void fill(const Request& r, Report& report) {
  const bool training = r.parts != Parts::inference, inference = r.parts != Parts::training;
  check(r, {.training = training, .inference = r.parts == Parts::inference});
  report.inputs =
      inputs_json(r, (training ? for_training : 0U) | (inference ? for_inference : 0U) | for_parts | for_tables);
  if (training) report.sections = {training_memory_section(r), activations_section(r)};
  if (inference) {
    report.sections.push_back(inference_memory_section(r, training ? "inference_memory" : "memory"));
    report.sections.push_back(kv_cache_section(r));
  }
  if (r.ops && training) report.grids.push_back(operators_grid(r, Phase::training));
  if (r.ops && !training) report.grids = {operators_grid(r, Phase::prefill), operators_grid(r, Phase::decode)};
  report.conclusion = training ? training_memory_conclusion(r) : inference_memory_conclusion(r);
}

}  // namespace

const Question memory_question{
    .name = "memory",
    .summary = "Memory per GPU: weights, gradients, optimizer, activations, logits, KV cache, peak.",
    .examples =
        "  llmcalc memory llama-3.1-8b --train --seq 8Ki --recompute full --hardware h100\n"
        "  llmcalc memory llama-3.1-70b --infer --weight-precision q4_k --batch 16",
    .uses = for_training | for_inference | for_parts | for_tables,
    .hardware = true,
    .fill = fill};

}  // namespace llmcalc
