#pragma once
/// A row's software as the estimator knows it.

#include "evidence/rows/training_case.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

TrainingStack training_stack(const TrainingCase& c);

/// The multiple to which a stack pads a rank's rows of the vocabulary (SoftwareCard); 1 of stacks without a profile of
/// their own, which only run like another.
Count vocabulary_multiple(const Stack& s);

/// Cases of a class are predicted about as well.
EstimateClass estimate_class(const TrainingCase& c);

}  // namespace llmcalc
