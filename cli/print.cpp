#include "cli/print.hpp"

#include <algorithm>

#include "cli/output.hpp"
#include "cli/pictures.hpp"
#include "cli/stop.hpp"
#include "cli/thread_runner.hpp"
#include "cli/trace_file.hpp"
#include "report/render/render.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Writes text. Ignores a closed pipe, which does not change the exit code.
void write(const std::string& text) {
  try {
    write_out(text);
  } catch (const PipeClosed&) {
  }
}

}  // namespace

Screen screen_of(const Arguments& arguments) {
  Screen screen = arguments.screen();
  screen.columns = output_columns();
  screen.color = output_color();
  return screen;
}

int print(const Report& report, const Screen& screen) {
  write(render(report, screen));
  return 0;
}

int answer_and_print(const Command& command, const Arguments& arguments) {
  if (wants_pictures(arguments)) return answer_in_pictures(command, arguments);
  const bool traced = std::any_of(command.own.begin(), command.own.end(),
                                  [&](const Option& o) { return o.flag == "--trace" && arguments.has(o.flag); });
  if (!traced && arguments.has("--force")) throw InputError("--force has no effect without --trace; add --trace");
  if (traced) {
    stop_at_once();
    check_trace_out(arguments.text("--trace"), arguments.has("--force"));
  }
  ThreadRunner runner;
  const Output output = command.answer(arguments, runner);
  runner.end();
  if (traced && !output.trace.empty()) write_trace(arguments.text("--trace"), output.trace);
  for (const std::string& aside : output.asides) say("llmcalc: " + aside);
  write(text_of(output, screen_of(arguments)));
  if (output.stopped) return stopped_code();
  return output.fits ? 0 : 1;
}

}  // namespace llmcalc
