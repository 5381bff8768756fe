#pragma once
/// Times of measured cases under parameters of the estimators.

#include "calc/train.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// A step under parameters.
TrainEstimate estimated_training(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p);

/// The times of a case under parameters. The case outlives them.
InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p);

}  // namespace llmcalc
