#pragma once
/// The sub-commands: one file each in commands/. A command is a row: its words and options, from which parsing, help,
/// the manual and completions follow, and what runs it.

#include <vector>

#include "cli/arguments.hpp"

namespace llmcalc {

/// A positional argument of a command.
struct Word {
  std::string_view name, help;
  bool required = true;
  bool repeats = false;  ///< the last word of a command can stand for several
};

/// The help for MODEL, the same in every command.
inline constexpr std::string_view model_meaning =
    "a preset, a model file, a config.json, a GGUF or safetensors file, or a folder of these";

struct Command {
  std::string_view program = "llmcalc";
  std::string_view name, arguments, summary;  ///< a line of 'llmcalc --help'
  std::string_view about, examples;           ///< first and last part of its own help
  std::span<const Word> words{};
  std::span<const Option> own{};           ///< options of this command alone
  Parts parts = 0;                         ///< the options of the table that it takes
  int (*run)(const Arguments&) = nullptr;  ///< the exit code; throws InputError
};

/// "llmcalc train": how a command is typed.
std::string invocation(const Command& c);

std::span<const Command> commands();

/// Runs "llmcalc ARGS...": exit code 0 answer, 1 something moved, 2 bad input. Prints mistakes on stderr.
int run_llmcalc(Args args);
/// The same of a program that has one command.
int run_program(const Command& c, Args args);

extern const Command explain_command, scaling_command, collective_command, list_command, show_command, import_command,
    check_command, compare_command, accuracy_command, diagnose_command, plan_command, fit_command, serve_command,
    learn_command, generate_command, validate_command, calibrate_command, perplexity_command;

}  // namespace llmcalc
