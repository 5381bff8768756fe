#pragma once
/// Pages (--html) and charts (--plot) of an answer.

#include "report/commands/arguments.hpp"

namespace llmcalc {

/// Whether the arguments ask for a page or a chart.
bool wants_pictures(const Arguments& arguments);

/// Throws InputError if the kind of chart is unknown, or if a file must not be replaced.
void check_pictures(const Arguments& arguments);

/// Writes the page or draws the chart of a report without a plan. Returns 0.
int draw(const Report& report, const Arguments& arguments);

/// Answers the command, writes its page or draws its chart, and returns the exit code. Throws InputError if the answer
/// has no such chart, or if a file must not be replaced.
int answer_in_pictures(const Command& command, const Arguments& arguments);

}  // namespace llmcalc
