#pragma once
/// Estimated times of measured cases under specific estimator parameters.

#include "calc/train.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// Estimate of a training step under the parameters `p`.
TrainEstimate estimated_training(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p);

/// Estimated times of a case under the parameters `p`. The case must outlive the result.
InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p);

}  // namespace llmcalc
