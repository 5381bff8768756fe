#pragma once
/// A row's software as input to the estimator.

#include "evidence/rows/training_case.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

TrainingStack training_stack(const TrainingCase& c);

/// Multiple to which a stack pads a rank's vocabulary rows (SoftwareCard). 1 for a stack without a profile, even if
/// another stack's profile predicts its time.
Count vocabulary_multiple(const Stack& s);

/// Class of cases with similar prediction errors.
EstimateClass estimate_class(const TrainingCase& c);

}  // namespace llmcalc
