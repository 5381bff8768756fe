#pragma once
/// Ratio of estimated to measured training throughput.

#include <optional>

#include "ask/request/request.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// Ratio of estimated to measured tokens/s; above 1 if the machine is slower than estimated. Estimated times of other
/// plans are multiplied by the ratio's rescale() (presets/training_estimator.hpp). Absent without a measured
/// throughput or without software.
std::optional<double> measured_scale(const Request& r, const TrainEstimate& e);

/// The step's time with all parts multiplied by the rescale() of the request's measured scale.
StepTime rescaled(const Request& r, const StepTime& t);

}  // namespace llmcalc
