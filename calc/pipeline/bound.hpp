#pragma once
/// Lower bound on the duration of a pipeline, without simulating it.

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// Seconds that a rank is busy: m (F + B + W), summed over its chunks, with the actual time of paired slots. Excludes
/// stalls.
Seconds busy_seconds(const Pipeline& p, const PipelineTimes& t, Count rank);

/// Seconds that a rank saves because forward and backward of paired slots overlap.
Seconds saved_by_pairs(const Pipeline& p, const PipelineTimes& t, Count rank);

/// A lower bound on the makespan, for every schedule: the maximum over ranks of the path of a micro-batch to the rank,
/// plus the rank's work, plus the return path of the gradients. The return path need not wait for separate weight
/// gradients; if a rank has them, the path is added only to the rest of the rank's work. Precondition: no flaw.
Seconds least_makespan(const Pipeline& p, const PipelineTimes& t);

}  // namespace llmcalc
