#include "cli/commands/plan_command.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/output.hpp"
#include "cli/sections.hpp"
#include "presets/error.hpp"
#include "presets/load.hpp"

namespace llmcalc {

std::span<const PlanCommand* const> plan_commands() {
  static constexpr std::array all{&params_command, &memory_command, &flops_command,
                                  &train_command,  &infer_command,  &report_command};
  return all;
}

std::optional<Request> plan_request(const PlanCommand& command, Arguments& arguments, Args args) {
  std::string model, hardware;
  arguments.positional("MODEL", "a preset, a model file, a config.json or its folder", model);
  if (command.hardware) arguments.option("--hardware", "HW", "a hardware preset or file", hardware);
  arguments.plan(command.uses);
  arguments.styles();
  if (!arguments.parse(args)) return std::nullopt;
  if (command.hardware_required && hardware.empty())
    throw InputError(
        fmt::format("'llmcalc {}' wants --hardware HW; 'llmcalc list hardware' shows what there is", command.name));
  Request r;
  r.model = load_model(model);
  if (!hardware.empty()) r.hardware = load_hardware(hardware);
  arguments.apply(r);
  check(r, command.checks);
  return r;
}

Report build(const PlanCommand& command, const Request& r) {
  Report report;
  report.command = command.name;
  report.title = title(r.model);
  if (r.hardware) report.title += " on " + devices(r, r.plan.gpus);
  report.model = model_json(r.model);
  if (r.hardware) report.hardware = hardware_json(*r.hardware);
  if (command.uses != 0) report.inputs = inputs_json(r, command.uses);
  report.conventions = conventions_json(r);
  report.notes = notes(r);
  command.fill(r, report);
  return report;
}

int run(const PlanCommand& command, Args args) {
  Arguments arguments(std::string(command.name), std::string(command.summary), std::string(command.examples));
  const std::optional<Request> r = plan_request(command, arguments, args);
  return r ? print(build(command, *r), arguments.style()) : 0;
}

int print(const Report& report, Style style) {
  write_out(render(report, style));
  return 0;
}

std::string title(const ModelCard& card) { return card.title.empty() ? card.name : card.title; }
std::string title(const HardwareCard& card) { return card.title.empty() ? card.name : card.title; }

std::string devices(const Request& r, Count n) {
  const std::string name = title(*r.hardware);
  return n == 1 ? "one " + name : fmt::format("{} x {}", n, name);
}

}  // namespace llmcalc
