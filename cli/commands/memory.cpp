#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/conclusion.hpp"
#include "cli/sections.hpp"
#include "presets/error.hpp"

namespace llmcalc {

int run_memory(Args args) {
  bool train = false, infer = false;
  PlanCommand command{.name = "memory",
                      .summary = "Memory per GPU: weights, gradients, optimizer, activations, logits, KV cache, peak.",
                      .examples =
                          "  llmcalc memory llama-3.1-8b --train --seq 8Ki --recompute full --hardware h100\n"
                          "  llmcalc memory llama-3.1-70b --infer --weight-precision q4_k --batch 16",
                      .uses = for_training | for_inference,
                      .hardware = true};
  Arguments arguments(command.name, command.summary, command.examples);
  arguments.flag("--train", "only training", train);
  arguments.flag("--infer", "only inference", infer);
  const std::optional<Request> r = plan_request(command, arguments, args);
  if (!r) return 0;
  if (train && infer) train = infer = false;
  const bool training = !infer, inference = !train;
  check(*r, {.training = training, .inference = infer});
  command.uses = (training ? for_training : 0u) | (inference ? for_inference : 0u);
  Report report = plan_report(command, *r);
  if (training) {
    report.sections.push_back(training_memory_section(*r));
    report.sections.push_back(activations_section(*r));
  }
  if (inference) {
    report.sections.push_back(inference_memory_section(*r, training ? "inference_memory" : "memory"));
    report.sections.push_back(kv_cache_section(*r));
  }
  report.conclusion = training ? training_memory_conclusion(*r) : inference_memory_conclusion(*r);
  return print(report, arguments.style());
}

}  // namespace llmcalc
