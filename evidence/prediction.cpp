#include "evidence/prediction.hpp"

#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "evidence/inference_fit.hpp"
#include "evidence/inference_stack.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/training_fit.hpp"
#include "evidence/training_stack.hpp"

namespace llmcalc {

namespace {

Prediction with_interval(double x, const EstimateInterval& interval) {
  if (!interval.known()) return {x};
  return {x, x / interval.factor, x * interval.factor};
}

double memory_bytes(const InferenceCase& c, const Figure& f) {
  const Bytes peak = inference_memory(c.arch, c.plan, c.layout).peak;
  return static_cast<double>(peak.value) * static_cast<double>(f.devices);
}

double weight_bytes(const InferenceCase& c) {
  return static_cast<double>(weights_bytes(c.arch, c.plan, c.layout).value);
}

}  // namespace

Prediction predicted_step(const TrainingCase& c) {
  const TrainingEstimator& e = training_estimator();
  const double seconds = estimated_step(c, training_stack(c), e.parameters).value;
  return with_interval(seconds, e.interval(estimate_class(c)));
}

double bound_of_step(const TrainingCase& c) { return train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value; }

Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind) {
  const auto bytes = static_cast<double>(total(held).value);
  return with_interval(bytes, memory_estimate().interval(memory_class(kind)));
}

std::optional<double> bound_of_figure(const InferenceCase& c, const Figure& f) {
  return InferenceTimes(c, inference_stack(c), c.cluster()).figure(f);
}

namespace {

/// Memories, which no estimator's parameter changes.
std::optional<double> predicted_room(const InferenceCase& c, const Figure& f) {
  if (f.quantity == FigureKind::cache_tokens) return cache_tokens(c);
  if (f.quantity == FigureKind::memory) return memory_bytes(c, f);
  if (f.quantity == FigureKind::weight_memory) return weight_bytes(c);
  return std::nullopt;
}

}  // namespace

std::optional<Prediction> predicted_figure(const InferenceCase& c, const Figure& f) {
  const std::optional<InferenceClass> kind = inference_class(c, f.quantity);
  if (!kind) {
    const std::optional<double> room = predicted_room(c, f);
    return room ? std::optional(Prediction{*room}) : std::nullopt;
  }
  const InferenceEstimator& e = inference_estimator();
  return with_interval(*estimated_figure(c, f, inference_stack(c), e.parameters), e.interval(*kind));
}

}  // namespace llmcalc
