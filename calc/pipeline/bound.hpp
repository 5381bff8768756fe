#pragma once
/// Least time of a pipeline, without a simulation.

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// Seconds that a rank works: m (F + B + W) of its chunks, with the actual time of paired slots. Excludes stalls.
Seconds busy_seconds(const Pipeline& p, const PipelineTimes& t, Count rank);

/// Seconds that a rank saves because forward and backward of paired slots overlap.
Seconds saved_by_pairs(const Pipeline& p, const PipelineTimes& t, Count rank);

/// A lower bound of the makespan, for every schedule: the maximum over ranks of a micro-batch's path to the rank, the
/// rank's work, and the path of gradients back. If weight gradients are separate, they need not precede the path back,
/// which is then added only to the rank's other work. Precondition: no flaw.
Seconds least_makespan(const Pipeline& p, const PipelineTimes& t);

}  // namespace llmcalc
