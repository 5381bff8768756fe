#pragma once
/// One row per command, with its positional arguments, its options and the function that answers it. Parsing, help,
/// the manual and completions are derived from the row.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ask/request/options/options.hpp"
#include "report/commands/runner.hpp"
#include "report/report.hpp"

namespace llmcalc {

class Arguments;

/// A positional argument of a command.
struct Word {
  std::string_view name, help;
  bool required = true;
  bool repeats = false;    ///< whether it may occur several times; only for the last argument of a command
  std::string_view key{};  ///< key in requests; empty: `name`

  /// The argument's key in requests: "quantity".
  std::string request_key() const;
};

/// The help for MODEL, the same in every command.
inline constexpr std::string_view model_meaning =
    "a preset, a model file, a config.json, a GGUF or safetensors file, or a folder of them";

/// An answer other than a report.
struct Page {
  json::Value json;
  std::function<std::string(const Screen&)> text;
  bool verbatim = false;  ///< whether the text is already JSON
};

struct Output {
  std::variant<std::monostate, Report, Page> content;  ///< monostate: stopped before there was an answer
  bool fits = true;                                    ///< whether the plan fits as --require-fit demands
  bool stopped = false;                                ///< whether the command was stopped early
  std::string trace{};                                 ///< content of the --trace file
  std::vector<std::string> asides{};  ///< lines such as "note: ...", printed in addition to the content
};

/// The answer as JSON.
json::Value json_of(const Output& output);
/// The answer as the command line prints it; empty if there is none.
std::string text_of(const Output& output, const Screen& screen);

struct Command {
  std::string_view program = "llmcalc";
  std::string_view name, arguments, summary;  ///< columns of the command's line in 'llmcalc --help'
  std::string_view about, examples;           ///< first and last part of the command's help
  std::span<const Word> words{};
  std::span<const Option> own{};  ///< options that only this command has
  Parts parts = 0;                ///< parts of the answer; the command accepts the table options that affect them
  std::string_view keys{};        ///< keys of its report in JSON, besides report_head; of a question: see answer_keys()
  std::string_view files{};       ///< kinds of files that it prints instead of a report: "model hardware"
  Output (*answer)(const Arguments&, Runner& runner) = nullptr;  ///< computes the answer; throws InputError
  int (*run)(const Arguments&) = nullptr;  ///< used instead of answer() by commands with files, kernels or a terminal
};

/// The typed form of a command: "llmcalc train".
std::string invocation(const Command& c);

/// All options of a command: options that no other command has, then options in the option table.
std::vector<const Option*> options_of(const Command& command);
/// The command's option with this flag; null if it has no such option.
const Option* option_of(const Command& command, std::string_view flag);

/// Whether the option's value names a file or folder, which requests cannot name.
bool takes_file(const Option& o);

/// Commands that need neither files nor a terminal.
std::span<const Command> answered_commands();
/// The command of this name; null if unknown.
const Command* answered_command(std::string_view name);

extern const Command explain_command, scaling_command, collective_command, list_command, show_command, diagnose_command,
    plan_command, fit_command, serve_command, import_command;

}  // namespace llmcalc
