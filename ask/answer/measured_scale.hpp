#pragma once
/// Ratio of an estimate to a measured throughput of training.

#include <optional>

#include "ask/request/request.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// Estimated over measured tokens/s: above 1 the machine is slower than its estimate. Other plans' estimated times are
/// to be multiplied by its rescale() (presets/training_estimator.hpp). Absent without a measured throughput, or without
/// software behind the estimate.
std::optional<double> measured_scale(const Request& r, const TrainEstimate& e);

/// A step's time, all its parts, multiplied by what the request's measured scale comes to.
StepTime rescaled(const Request& r, const StepTime& t);

}  // namespace llmcalc
