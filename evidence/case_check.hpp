#pragma once
/// What no row may say: a figure that means nothing without a key that is missing, and a value that the device cannot
/// reach. All throw InputError: file, line, row, key, why, and what to do; and Overflow where a count passes 2^63.
///
/// Precondition of all: the case is not to be skipped.

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// The time of a step. One whose batch is not stated means nothing. None is shorter than its model FLOPs take at the
/// peak of all devices, each query counted with the keys before it alone, nothing computed again; the peak of a device
/// without a preset is not known.
void check_step(const TrainingCase& c);
/// The share of all devices' peak that the step's model FLOPs are, counted so that they are the fewest; 0 where there
/// is no step, or the peak is not known.
double least_utilization(const TrainingCase& c);
/// Peaks of memory: at least a mebibyte, and no more than a device has.
void check_memories(const TrainingCase& c);
/// A figure of inference: lengths and clients that they need, memory as above, a cache that all devices could hold, a
/// bandwidth no larger than the device's, but where its cache holds the weights, and a time or rate that devices reach:
///   - no time is below a microsecond, which one kernel takes;
///   - no rate is above 10 times that at which all devices multiply a token's weights at their peak (1e18 FLOP/s each,
///     where the device has no preset);
///   - where the device has one, and the row states batch and lengths: none is more than 10 times faster than the work
///     takes at the datasheet's rates, a time as if the request were alone.
/// The factor of 10 is for speculative decoding and cached prompts, which rows need not tell.
void check_figure(const InferenceCase& c, const Figure& f);

}  // namespace llmcalc
