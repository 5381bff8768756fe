#pragma once
/// Checks that reject rows with measured values that the device cannot reach. All throw InputError with file, line,
/// row, key, reason and remedy, and Overflow if a count exceeds 2^63.
///
/// Precondition for all: the case's `skip` is empty.

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Rejects a step shorter than its model FLOPs take at the peak of all devices, with causal attention counted exactly
/// and no recomputation. Accepts steps on devices without a preset, whose peak is unknown.
void check_step(const TrainingCase& c);
/// Fraction of all devices' peak that the step's model FLOPs require at the lowest possible FLOP count. 0 without a
/// step or a known peak.
double least_utilization(const TrainingCase& c);
/// Rejects memory peaks below one mebibyte or above the device's memory.
void check_memories(const TrainingCase& c);
/// Checks an inference figure. Memory is checked as by check_memories(). A cache must fit on all devices. A bandwidth
/// must not exceed the device's, unless the weights fit into its on-chip cache. Times and rates must be within the
/// devices' reach:
///   - no time is below one microsecond, the minimum for a single kernel;
///   - no rate exceeds 10 times the rate at which all devices run a token's weight matmuls at their peak (1e18 FLOP/s
///   each without a preset);
///   - with a preset, and with batch and lengths stated, no figure is more than 10 times as fast as its work allows at
///   datasheet rates (for a time, the work of a single request).
/// The factor of 10 covers speculative decoding and cached prompts, which rows do not always mention.
void check_figure(const InferenceCase& c, const Figure& f);

}  // namespace llmcalc
