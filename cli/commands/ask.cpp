#include "cli/commands/ask.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {

int ask(const Question& question, const Arguments& arguments) {
  if (question.needs_hardware && !arguments.has("--hardware"))
    throw InputError(
        fmt::format("'llmcalc {}' needs --hardware HW; 'llmcalc list hardware' shows what there is", question.name));
  Request r;
  r.model = load_model(arguments.word("MODEL"));
  arguments.apply(r);
  check(r);
  return print(answer(question, r), arguments.screen());
}

int print(const Report& report, const Screen& screen) {
  try {
    write_out(render(report, screen));
  } catch (const PipeClosed&) {  // the exit code still says what was found
  }
  return 0;
}

}  // namespace llmcalc
