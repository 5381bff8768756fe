#pragma once
/// Class and 90 % interval of an estimate.

#include <optional>

#include "ask/request/request.hpp"
#include "calc/train.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// The ends of an interval as multiples of the estimate.
struct RelativeInterval {
  double low = 1, high = 1;
  bool is_exact() const { return low == 1 && high == 1; }
  /// The interval of the reciprocal: of a price, from that of a throughput.
  RelativeInterval inverse() const { return {1 / high, 1 / low}; }
};

/// Class and interval of the training estimate. There is no interval without software, or if the user specifies an
/// efficiency or the overlap.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);
/// Interval of a step's time, clamped below at the roofline bound.
std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e);
/// Whether the fit of the inference estimator lacks the device, its kind or the engine.
bool is_new_to_fit(const Request& r);
/// Interval of an inference estimate of this kind, wider if is_new_to_fit() or if the host is assumed. There is no
/// interval for servers with drafts or pools, because no source measured their times.
std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind);

/// Whether the estimator was fitted to measurements on this device, or the device was calibrated.
bool stands_on_runs(const TrainingEstimator& e, const HardwareCard& card);
bool stands_on_runs(const InferenceEstimator& e, const HardwareCard& card);
/// Whether the hardware file contains times measured with the operators of the request's engine.
bool has_operators_of_engine(const Request& r);

}  // namespace llmcalc
