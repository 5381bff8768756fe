#include "ask/answer/measured_scale.hpp"

#include "calc/run.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

std::optional<double> measured_scale(const Request& r, const TrainEstimate& e) {
  if (!r.software || !r.run.measured_tokens_per_s) return std::nullopt;
  return tokens_per_second(e, e.estimate) / *r.run.measured_tokens_per_s;
}

StepTime rescaled(const Request& r, const StepTime& t) { return rescale(r.run.measured_scale) * t; }

}  // namespace llmcalc
