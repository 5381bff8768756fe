#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/sections.hpp"

namespace llmcalc {
namespace {

void fill(const Request& r, Report& report) {
  report.conventions = {{"parameters", report.conventions["parameters"]}};
  report.sections = {parameters_section(r.model)};
  const Parameters p = parameters(r.model.arch);
  report.conclusion =
      fmt::format("{} has {}, {}.", title(r.model), human_text(p.total, Unit::parameters),
                  p.active == p.total ? "all of them at work on every token"
                                      : human_text(p.active, Unit::parameters) + " of them at work on each token");
}

}  // namespace

const PlanCommand params_command{.name = "params",
                                 .summary = "Parameters by component, exact.",
                                 .examples = "  llmcalc params llama-3.1-405b\n  llmcalc params ./config.json --json",
                                 .fill = fill};

int run_params(Args args) { return run(params_command, args); }

}  // namespace llmcalc
