#pragma once
/// Answers on standard output.

#include "report/commands/arguments.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// The rendering that the options and the terminal ask for.
Screen screen_of(const Arguments& arguments);

/// Prints a report; the exit code.
int print(const Report& report, const Screen& screen);

/// Answers a command on all cores, with progress on stderr, and prints the answer; the exit code: 1 where the plan does
/// not fit and must, 128 + signal where it was stopped.
int answer_and_print(const Command& command, const Arguments& arguments);

}  // namespace llmcalc
