#pragma once
/// Checks for incomplete rows in the old schema.

#include <string>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Drops measured values that are meaningless because another key is missing: a step time without a batch size,
/// prefill or decode times without lengths, results for several clients without their number. Returns the reason, or
/// an empty string if the row is complete. Precondition: the case's `skip` is empty.
std::string drop_incomplete(const TrainingRow& row, TrainingCase& c);
std::string drop_incomplete(const InferenceRow& row, InferenceCase& c);

}  // namespace llmcalc
