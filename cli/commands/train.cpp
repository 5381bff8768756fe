#include "cli/commands/train.hpp"

#include <array>

#include "ask/request/options.hpp"
#include "cli/commands/ask.hpp"
#include "cli/stop.hpp"
#include "cli/trace_file.hpp"
#include "report/question.hpp"
#include "report/trace/trace.hpp"

namespace llmcalc {

std::span<const Option> trace_options() {
  static constexpr std::array all{
      Option{"--trace", "FILE", "writes the schedule of the step as a trace, for ui.perfetto.dev or chrome://tracing"}};
  return all;
}

/// The trace comes first: who asked for it gets no report without it.
int ask_train(const Arguments& arguments) {
  const Request r = request(train_question, arguments);
  if (arguments.has("--trace")) {
    stop_at_once();
    const std::string path = arguments.text("--trace");
    check_trace_out(path);
    write_trace(path, step_trace(r));
  }
  return print_answer(train_question, r, arguments.screen());
}

}  // namespace llmcalc
