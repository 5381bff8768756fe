#include <array>

#include "cli/command.hpp"
#include "cli/machine/here.hpp"
#include "cli/print.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::array here_options{Option{"--here", "", "the GPUs, processor and memory of this machine"}};

int run_list(const Arguments& arguments) {
  if (!arguments.has("--here")) return answer_and_print(list_command, arguments);
  if (!same_name(arguments.word(list_command.words[0].name), "hardware"))
    throw InputError("--here applies only to 'llmcalc list hardware'; omit it");
  return print(machine_report(read_machine()), screen_of(arguments));
}

/// Runs the command for the device of --hardware or, without that option, for this machine.
int run_fit(const Arguments& arguments) {
  if (arguments.has("--hardware")) return answer_and_print(fit_command, arguments);
  std::vector<std::string> words(arguments.typed().begin(), arguments.typed().end());
  words.insert(words.end(), {"--hardware", required_preset_here(read_machine())});
  return answer_and_print(fit_command, Arguments(fit_command, words, commands()));
}

}  // namespace

Command list_with_here() {
  Command c = list_command;
  c.own = here_options;
  c.run = run_list;
  return c;
}

Command fit_here() {
  Command c = fit_command;
  c.run = run_fit;
  return c;
}

}  // namespace llmcalc
