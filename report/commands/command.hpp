#pragma once
/// A command as a row: its words and options, from which parsing, help, the manual and completions follow, and the
/// function that answers it.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ask/request/options.hpp"
#include "report/commands/runner.hpp"
#include "report/report.hpp"

namespace llmcalc {

class Arguments;

/// A positional argument of a command.
struct Word {
  std::string_view name, help;
  bool required = true;
  bool repeats = false;    ///< the last word of a command can stand for several
  std::string_view key{};  ///< in requests; empty: its name
};

/// The help for MODEL, the same in every command.
inline constexpr std::string_view model_meaning =
    "a preset, a model file, a config.json, a GGUF or safetensors file, or a folder of these";

/// An answer that is no report.
struct Page {
  json::Value json;
  std::function<std::string(const Screen&)> text;
  bool verbatim = false;  ///< its text is JSON already
};

struct Output {
  std::variant<std::monostate, Report, Page> content;  ///< the first: stopped before there was anything to answer
  bool fits = true;                                    ///< all that --require-fit asks about
  bool stopped = false;                                ///< before its end
  std::string trace{};                                 ///< the file of --trace
  std::vector<std::string> asides{};                   ///< "note: ...": printed besides it
};

/// The answer as JSON.
json::Value json_of(const Output& output);

struct Command {
  std::string_view program = "llmcalc";
  std::string_view name, arguments, summary;  ///< a line of 'llmcalc --help'
  std::string_view about, examples;           ///< first and last part of its own help
  std::span<const Word> words{};
  std::span<const Option> own{};                                 ///< options of this command alone
  Parts parts = 0;                                               ///< the options of the table that it takes
  Output (*answer)(const Arguments&, Runner& runner) = nullptr;  ///< throws InputError
  int (*run)(const Arguments&) = nullptr;  ///< in place of answer(): a command of files, kernels or the terminal
};

/// "llmcalc train": how a command is typed.
std::string invocation(const Command& c);

/// Every option that a command takes: its own, then those of the table.
std::vector<const Option*> options_of(const Command& command);

/// The commands that need neither files nor a terminal.
std::span<const Command> answered_commands();
/// The one of that name; null: there is none.
const Command* answered_command(std::string_view name);

extern const Command explain_command, scaling_command, collective_command, list_command, show_command, diagnose_command,
    plan_command, fit_command, serve_command, import_command;

}  // namespace llmcalc
