#pragma once
/// Class and 90 % interval of an estimate.

#include <optional>

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// Class and interval of the training estimate. No interval without software, or if the user specifies an efficiency or
/// the overlap.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);
/// Interval of a step's time, clamped below at the roofline bound.
std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e);
/// Class and interval of an inference estimate of this kind. No interval for servers with drafts or pools: no source
/// measured their times.
InferenceClass class_of(const Request& r, InferenceClass kind);
std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind);

/// Whether rows of the fit, or a calibration, were measured on the device.
bool stands_on_runs(const TrainingEstimator& e, const HardwareCard& card);
bool stands_on_runs(const InferenceEstimator& e, const HardwareCard& card);
/// Whether the hardware file has measured times of the engine's own operators.
bool has_operators_of_engine(const Request& r);

}  // namespace llmcalc
