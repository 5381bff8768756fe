#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "presets/builtin.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

int run_show(Args args) {
  Arguments arguments("show", "A preset as the JSON file that it is.", "  llmcalc show h100 > my-h100.json");
  std::string name;
  bool json = false;
  arguments.positional("NAME", "a model or hardware preset", name);
  arguments.flag("--json", "what it does anyway", json);
  if (!arguments.parse(args)) return 0;
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

}  // namespace llmcalc
