#pragma once
/// Prints answers on standard output.

#include "report/commands/arguments.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The output settings that follow from the options and the terminal.
Screen screen_of(const Arguments& arguments);

/// Prints a report. Returns the exit code.
int print(const Report& report, const Screen& screen);

/// Answers a command on all cores, with progress on stderr, and prints the answer. Returns the exit code: 1 if
/// --require-fit is not met, 128 + signal number if stopped.
int answer_and_print(const Command& command, const Arguments& arguments);

}  // namespace llmcalc
