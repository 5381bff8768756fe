#pragma once
/// Class and 90 % interval of an estimate.

#include <optional>

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// The class of the estimate of training, and its interval; nothing where no software stands behind it, or a part of it
/// was given by hand.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);
/// The same of a step: nothing is faster than its bound.
std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e);
/// The same of inference, of that kind of figure; nothing of servers with drafts or with pools, whose times no source
/// measured.
InferenceClass class_of(const Request& r, InferenceClass kind);
std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind);

/// Whether rows of the fit, or a calibration, were measured on the device.
bool stands_on_runs(const TrainingEstimator& e, const HardwareCard& card);
bool stands_on_runs(const InferenceEstimator& e, const HardwareCard& card);
/// Whether the hardware file has times of the engine's own operators.
bool has_operators_of_engine(const Request& r);

}  // namespace llmcalc
