#pragma once
/// Subcommands of the program: those in report/commands, and those that need files, kernels or a terminal, one file
/// each in commands/.

#include "report/commands/arguments.hpp"

namespace llmcalc {

std::span<const Command> commands();

/// Runs "llmcalc ARGS...". Exit code: 0 answer, 1 differences found, 2 bad input. Prints errors on stderr.
int run_llmcalc(Args args);
/// Runs a program with a single command. Same exit codes.
int run_program(const Command& c, Args args);

extern const Command check_command, compare_command, sweep_command, accuracy_command, learn_command, generate_command,
    validate_command, calibrate_command, perplexity_command, mcp_command;
/// The command 'llmcalc schema', which prints JSON Schemas.
Command schema_command();
/// The command 'llmcalc import' with --verbose.
Command verbose_import();
/// The command 'llmcalc list' with --here.
Command list_with_here();
/// The command 'llmcalc fit', where --hardware defaults to this machine.
Command fit_here();

}  // namespace llmcalc
