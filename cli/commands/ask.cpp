#include "cli/commands/ask.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {

std::optional<Request> read_request(const Question& question, Arguments& arguments, Args args) {
  std::string model, hardware;
  arguments.positional("MODEL", "a preset, a model file, a config.json or its folder", model);
  if (question.hardware) arguments.option("--hardware", "HW", "a hardware preset or file", hardware);
  arguments.plan(question.uses);
  arguments.styles();
  if (!arguments.parse(args)) return std::nullopt;
  if (question.hardware_required && hardware.empty())
    throw InputError(
        fmt::format("'llmcalc {}' wants --hardware HW; 'llmcalc list hardware' shows what there is", question.name));
  Request r;
  r.model = load_model(model);
  if (!hardware.empty()) r.hardware = load_hardware(hardware);
  arguments.apply(r);
  check(r, question.checks);
  return r;
}

int ask(const Question& question, Args args) {
  Arguments arguments(std::string(question.name), std::string(question.summary), std::string(question.examples));
  const std::optional<Request> r = read_request(question, arguments, args);
  return r ? print(answer(question, *r), arguments.style()) : 0;
}

int print(const Report& report, Style style) {
  write_out(render(report, style));
  return 0;
}

}  // namespace llmcalc
