#include "evidence/prediction.hpp"

#include "evidence/case_memory.hpp"
#include "evidence/estimated.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/names/training_stack.hpp"
#include "presets/estimators/power_estimate.hpp"

namespace llmcalc {

namespace {

/// The interval may rest on a single source, which the report states.
Prediction with_interval(double x, const EstimateInterval& interval) {
  if (interval.families == 0) return {x};
  return {x, x / interval.faster(), x * interval.factor};
}

}  // namespace

PredictedStep predicted_step(const TrainingCase& c) {
  const TrainingEstimator& e = training_estimator();
  const TrainEstimate step = estimated_training(c, training_stack(c), e.parameters);
  const EstimateClass kind =
      e.measured(c.on.hardware.name) ? estimate_class(c) : estimate_class(c.arch, c.on.hardware, true);
  const EstimateInterval interval = e.interval(kind).above(step.bound.total(), step.estimate.total());
  return {with_interval(step.estimate.total().value, interval), step.bound.total().value};
}

Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind) {
  const auto bytes = static_cast<double>(total(held).value);
  return with_interval(bytes, memory_estimate().interval(memory_class(kind)));
}

PredictedCase::PredictedCase(const InferenceCase& c)
    : c_(c),
      estimate_(estimated_times(c, inference_stack(c), inference_estimator().parameters)),
      bound_(c, inference_stack(c), c.cluster()) {}

std::optional<double> PredictedCase::bound(const Figure& f) const { return bound_.figure(f); }

std::optional<Prediction> PredictedCase::power() const {
  const double rated = c_.on.hardware.watts * static_cast<double>(c_.head.gpus);
  if (rated <= 0) return std::nullopt;
  const PowerEstimate& e = power_estimate();
  return with_interval(rated * power_share(e.parameters, estimate_.utilization()), e.interval);
}

std::optional<Prediction> PredictedCase::figure(const Figure& f) const {
  const InferenceEstimator& e = inference_estimator();
  const std::optional<InferenceClass> kind = inference_class(c_, f.quantity);
  const bool known = e.measured(c_.on.hardware.name) && e.ran(inference_profile(c_.engine));
  // The prediction is not clamped at the bound. A published figure may beat the bound of its row, because the row's
  // lengths are means and its prompts may have been cached.
  if (kind) return with_interval(*estimate_.figure(f), known ? e.interval(*kind) : e.interval_of_new(*kind));
  if (f.quantity == FigureKind::power) return power();
  const std::optional<double> room = predicted_memory(c_, f);
  return room ? std::optional(Prediction{*room}) : std::nullopt;
}

}  // namespace llmcalc
