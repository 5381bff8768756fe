#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/conclusion.hpp"
#include "cli/sections.hpp"

namespace llmcalc {

int run_infer(Args args) {
  const PlanCommand command{.name = "infer",
                            .summary = "Prefill, decode, a whole generation: time, tokens/s, bound, memory; what fits.",
                            .examples =
                                "  llmcalc infer llama-3.1-8b --hardware h100 --batch 8 --prompt 2048 --generate 256\n"
                                "  llmcalc infer deepseek-v3 --hardware h200 --tp 8 --precision fp8 --ops",
                            .uses = for_inference | for_time | for_tables,
                            .checks = {.inference = true, .time = true},
                            .hardware = true,
                            .hardware_required = true};
  Arguments arguments(command.name, command.summary, command.examples);
  const std::optional<Request> r = plan_request(command, arguments, args);
  if (!r) return 0;
  const InferEstimate e = infer(r->model.arch, r->plan, r->hardware->device);
  Report report = plan_report(command, *r);
  report.sections = {prefill_section(*r, e),    decode_section(*r, e),
                     end_to_end_section(*r, e), inference_memory_section(*r, "memory"),
                     kv_cache_section(*r),      limits_section(*r)};
  if (r->ops) {
    report.grids.push_back(operators_grid(*r, Phase::prefill));
    report.grids.push_back(operators_grid(*r, Phase::decode));
  }
  report.conclusion = infer_conclusion(*r, e);
  return print(report, arguments.style());
}

}  // namespace llmcalc
