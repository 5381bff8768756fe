#pragma once
/// Incomplete rows in the old schema.

#include <string>

#include "evidence/convert/inference_row.hpp"
#include "evidence/convert/training_row.hpp"
#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

/// Drops measured values that are meaningless because a key is missing: a step without its batch, a time of prompts or
/// answers without their lengths, clients without their number. Returns the reason, or empty if the row is complete.
/// Precondition: the case is not to be skipped.
std::string drop_incomplete(const TrainingRow& row, TrainingCase& c);
std::string drop_incomplete(const InferenceRow& row, InferenceCase& c);

}  // namespace llmcalc
