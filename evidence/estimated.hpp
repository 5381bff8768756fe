#pragma once
/// Times of measured cases under estimator parameters.

#include "calc/train.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// Training step under the given parameters.
TrainEstimate estimated_training(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p);

/// Times of a case under the given parameters. The case must outlive the result.
InferenceTimes estimated_times(const InferenceCase& c, const InferenceStack& stack, const InferenceParameters& p);

}  // namespace llmcalc
