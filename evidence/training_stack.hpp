#pragma once
/// A row's software as the estimator knows it.

#include "evidence/training_case.hpp"
#include "presets/training_estimator.hpp"

namespace llmcalc {

TrainingStack training_stack(const TrainingCase& c);

/// Cases of a class are predicted about as well.
EstimateClass estimate_class(const TrainingCase& c);

}  // namespace llmcalc
