#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/sections.hpp"

namespace llmcalc {

int run_flops(Args args) {
  const PlanCommand command{
      .name = "flops",
      .summary = "FLOPs of one training micro-batch: forward, backward, recomputed; named formulas.",
      .examples =
          "  llmcalc flops gpt-3-175b --seq 2048 --attention-flops causal-half\n"
          "  llmcalc flops llama-3.1-405b --tokens 15.6T --ops",
      .uses = for_flops | for_tables,
      .checks = {.training = true}};
  Arguments arguments(command.name, command.summary, command.examples);
  const std::optional<Request> r = plan_request(command, arguments, args);
  if (!r) return 0;
  Report report = plan_report(command, *r);
  report.sections = {flops_section(*r), formulas_section(*r)};
  if (r->ops) report.grids.push_back(operators_grid(*r, Phase::training));
  const TrainingFlops f = training_flops(r->model.arch, r->plan);
  const Count tokens = r->plan.micro_batch * r->plan.seq;
  report.conclusion = fmt::format(
      "{} for {} tokens: {} per token, forward and backward.", human_text(f.model_total, Unit::flops), tokens,
      human_text(static_cast<double>(f.model_total.value) / static_cast<double>(tokens), Unit::flops));
  return print(report, arguments.style());
}

}  // namespace llmcalc
