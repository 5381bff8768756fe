#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ask/request/options/options.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/print.hpp"
#include "presets/import/reading.hpp"
#include "presets/load.hpp"
#include "report/render/lines.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Prints a line for each key of the config: its value, and its meaning or the reason it was ignored.
void say_readings(const Document& config) {
  const std::vector<KeyReading> all = key_readings(config.value, config.where);
  std::size_t key = 0, value = 0;
  constexpr std::size_t widest_key = 40, longest_key = 100, widest_value = 16;
  for (const KeyReading& r : all) {
    key = std::max(key, std::min(widest_key, columns_of(r.key)));
    value = std::max(value, std::min(widest_value, columns_of(r.value)));
  }
  for (const KeyReading& r : all) {
    const std::string shown = shortened(r.value, widest_value);
    const std::string meaning = r.why.empty() ? fmt::format("-> {}", fmt::join(r.becomes, ", ")) : "ignored: " + r.why;
    say_raw(wrapped(flush_left(shortened(r.key, longest_key), key) + "  " + flush_left(shown, value) + "  ", meaning,
                    output_columns()));
  }
}

int run_import(const Arguments& arguments) {
  const std::string path = arguments.word("CONFIG");
  if (arguments.has("--verbose")) {
    if (path == json::standard_input)
      throw InputError("--verbose reads the config more than once, which standard input does not support; pass a file");
    say_readings(config_document(path));
  }
  return answer_and_print(import_command, arguments);
}

constexpr std::array import_options{
    Option{"--verbose", "", "print to stderr how each config key was interpreted, or why it was ignored"}};

}  // namespace

Command verbose_import() {
  Command c = import_command;
  c.own = import_options;
  c.answer = nullptr;
  c.run = run_import;
  return c;
}

}  // namespace llmcalc
