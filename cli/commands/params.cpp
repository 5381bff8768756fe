#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/sections.hpp"

namespace llmcalc {

int run_params(Args args) {
  const PlanCommand command{.name = "params",
                            .summary = "Parameters by component, exact.",
                            .examples = "  llmcalc params llama-3.1-405b\n  llmcalc params ./config.json --json"};
  Arguments arguments(command.name, command.summary, command.examples);
  const std::optional<Request> r = plan_request(command, arguments, args);
  if (!r) return 0;
  Report report = plan_report(command, *r);
  report.conventions = {{"parameters", report.conventions["parameters"]}};
  report.sections.push_back(parameters_section(r->model));
  const Parameters p = parameters(r->model.arch);
  report.conclusion = fmt::format("{} has {}", title(r->model), human_text(p.total, Unit::parameters));
  report.conclusion +=
      p.active == p.total
          ? ", all of them at work on every token."
          : fmt::format(", {} of them at work on each token.",
                        human_text(p.active, Unit::none).empty() ? "" : human_text(p.active, Unit::parameters));
  return print(report, arguments.style());
}

}  // namespace llmcalc
