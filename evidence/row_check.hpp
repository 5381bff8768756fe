#pragma once
/// What no row may say: a figure that means nothing without a key that is missing, and a value that the device cannot
/// reach. All throw InputError: file, line, row, key, why, and what to do; and Overflow where a count passes 2^63.
///
/// Precondition of all: the case is not to be skipped.

#include "evidence/inference_case.hpp"
#include "evidence/training_case.hpp"

namespace llmcalc {

/// The time of a step. One whose batch is not stated means nothing. None is shorter than its model FLOPs take at the
/// peak of all devices, each query counted with the keys before it alone, nothing computed again; the peak of a device
/// without a preset is not known.
void check_step(const TrainingRow& row, const TrainingCase& c);
/// Peaks of memory: at least a mebibyte, and no more than a device has.
void check_memories(const TrainingRow& row, const TrainingCase& c);
/// A figure of inference: lengths and clients that they need, memory as above, and a bandwidth no larger than the
/// device's, but where its cache holds the weights. That a token takes no less than reading the weights is not asked
/// for: speculative decoding, which rows need not tell, is faster.
void check_figure(const InferenceRow& row, const InferenceCase& c, const Figure& f);

}  // namespace llmcalc
