#include <fmt/format.h>

#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "presets/builtin.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

int run_show(const Arguments& arguments) {
  const std::string name = arguments.word("NAME");
  for (const auto presets : {builtin_models(), builtin_hardware()})
    if (const Builtin* b = find_meant(presets, name)) {
      write_out(std::string(b->text) + (b->text.ends_with('\n') ? "" : "\n"));
      return 0;
    }
  std::vector<std::string> known = builtin_names(builtin_models());
  for (std::string& n : builtin_names(builtin_hardware())) known.push_back(std::move(n));
  const std::vector<std::string> near = nearest(name, known, 1);
  throw InputError(fmt::format("no preset is called {}{} ('llmcalc list models' and 'llmcalc list hardware' show all)",
                               in_quotes(name), near.empty() ? "" : ", did you mean '" + near[0] + "'?"));
}

constexpr std::array show_words{Word{"NAME", "a model or hardware preset"}};

}  // namespace

const Command show_command{.name = "show",
                           .arguments = "NAME",
                           .summary = "a preset as JSON",
                           .about = "Prints a preset as its JSON file.",
                           .examples = "  llmcalc show h100 > my-h100.json",
                           .words = show_words,
                           .parts = part::json | part::help,
                           .run = run_show};

}  // namespace llmcalc
