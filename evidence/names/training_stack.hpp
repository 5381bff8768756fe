#pragma once
/// A row's software as input to the estimator.

#include "evidence/rows/training_case.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

TrainingStack training_stack(const TrainingCase& c);

/// Multiple to which a stack pads the vocabulary rows of a rank (SoftwareCard). 1 for a stack without a profile, even
/// if its time is predicted with another stack's profile.
Count vocabulary_multiple(const Stack& s);
/// Storage of logits during the loss, if the stack sets it; float32 otherwise.
LogitStore logit_store(const Stack& s);

/// Formats of frozen weights after the stack's conversions.
WeightFormats widened(const WeightFormats& base, const Stack& s);

/// Class of cases with similar prediction errors.
EstimateClass estimate_class(const TrainingCase& c);

}  // namespace llmcalc
