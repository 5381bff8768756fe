#pragma once
/// Recorded runs of servers beside their replays, over time.

#include "evidence/accuracy.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Generated tokens per second: in JSON over every stretch that the run tells, in text over some ten longer ones of
/// each run.
Grid throughput_grid(const Accuracy& a);

}  // namespace llmcalc
