#include "cli/commands/train.hpp"

#include <array>

#include "cli/commands/ask.hpp"
#include "report/trace.hpp"
#include "text/whole_file.hpp"

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
    WholeFile file(arguments.text("--trace"));
    const std::string trace = step_trace(r);
    file.write(std::as_bytes(std::span(trace)));
    file.finish();
  }
  return print_answer(train_question, r, arguments.screen());
}

}  // namespace llmcalc
