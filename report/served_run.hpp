#pragma once
/// Note about a benchmark of a server in a hardware file.

#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds a note that describes the benchmark and its effect on pass times and intervals, unless there is none.
void note_served_run(const Request& r, Report& report);

}  // namespace llmcalc
