#pragma once
/// The sub-commands of the program: those of report/commands, and those of files, kernels and the terminal, one file
/// each in commands/.

#include "report/commands/arguments.hpp"

namespace llmcalc {

std::span<const Command> commands();

/// Runs "llmcalc ARGS...": exit code 0 answer, 1 something moved, 2 bad input. Prints mistakes on stderr.
int run_llmcalc(Args args);
/// The same of a program that has one command.
int run_program(const Command& c, Args args);

extern const Command check_command, compare_command, accuracy_command, learn_command, generate_command,
    validate_command, calibrate_command, perplexity_command;
/// 'llmcalc import' with --verbose.
Command verbose_import();

}  // namespace llmcalc
