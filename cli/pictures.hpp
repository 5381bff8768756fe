#pragma once
/// Pages (--html) and charts (--plot) of an answer.

#include "report/commands/arguments.hpp"

namespace llmcalc {

/// Whether the arguments ask for a page or a chart.
bool wants_pictures(const Arguments& arguments);

/// Answers the command, writes its page or draws its chart, and returns the exit code. Throws InputError if the answer
/// has no such chart, or if a file must not be replaced.
int answer_in_pictures(const Command& command, const Arguments& arguments);

}  // namespace llmcalc
