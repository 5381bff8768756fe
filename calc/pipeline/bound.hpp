#pragma once
/// What a pipeline takes at least, before anything is simulated.

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// Seconds that a rank works: m (F + B + W) of its chunks; a paired slot takes its own time. Without waiting.
Seconds busy_seconds(const Pipeline& p, const PipelineTimes& t, Count rank);

/// Seconds that a rank saves because the forward and the backward of a paired slot overlap.
Seconds saved_by_pairs(const Pipeline& p, const PipelineTimes& t, Count rank);

/// A lower bound of the makespan, for every schedule: the longest, over ranks, of the way of a micro-batch to the rank,
/// the rank's work, and the way back of gradients from it. Where weight gradients are apart, nothing need follow a
/// rank's last slot: the way back is added to the rank's other work alone. Precondition: no flaw.
Seconds least_makespan(const Pipeline& p, const PipelineTimes& t);

}  // namespace llmcalc
