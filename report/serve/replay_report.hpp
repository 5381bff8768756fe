#pragma once
/// Recorded runs of servers compared with their replays, over time.

#include "evidence/accuracy.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Generated tokens per second: in JSON for every interval of a run, in text for about ten longer intervals.
Grid throughput_grid(const Accuracy& a);

}  // namespace llmcalc
