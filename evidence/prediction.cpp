#include "evidence/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "calc/infer.hpp"
#include "calc/train.hpp"
#include "evidence/training_fit.hpp"
#include "evidence/training_stack.hpp"

namespace llmcalc {

namespace {

double prefill_seconds(const InferenceCase& c) {
  return prefill(c.arch, c.plan, c.layout, c.cluster(), c.plan.prompt).bound.total().value;
}

/// A step of all sequences; where the row's figure states no context, in the middle of the answer.
double decode_seconds(const InferenceCase& c, const Figure& f) {
  const double context = f.context.value_or(c.cached + c.prompt + c.generate / 2);
  return decode(c.arch, c.plan, c.layout, c.cluster(), std::max<Count>(1, std::llround(context))).bound.total().value;
}

Seconds whole_seconds(const InferenceCase& c) { return infer(c.arch, c.plan, c.layout, c.cluster()).bound.total; }

double decoding_seconds(const InferenceCase& c) {
  const Generation g = infer(c.arch, c.plan, c.layout, c.cluster()).bound;
  return g.total.value - g.first_token.value;
}

/// Tokens for which weights and the largest pass leave room, on all replicas.
double cache_tokens(const InferenceCase& c) {
  const Memory m = inference_memory(c.arch, c.plan, c.layout);
  const double usable = c.plan.memory_utilization * static_cast<double>(c.cluster().device.memory.value);
  const double left = usable - static_cast<double>(m.weights.value) - static_cast<double>(m.workspace.value);
  const auto per_token = static_cast<double>(cache_bytes_per_token(c.arch, c.plan, c.layout).value);
  return left / per_token * static_cast<double>(replicas(c.layout));
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
  const EstimateInterval& interval = e.interval(estimate_class(c));
  if (!interval.known()) return {seconds};
  return {seconds, seconds / interval.factor, seconds * interval.factor};
}

double bound_of_step(const TrainingCase& c) { return train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value; }

Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind) {
  const auto bytes = static_cast<double>(total(held).value);
  const EstimateInterval& interval = memory_estimate().interval(memory_class(kind));
  if (!interval.known()) return {bytes};
  return {bytes, bytes / interval.factor, bytes * interval.factor};
}

std::optional<Prediction> predicted_figure(const InferenceCase& c, const Figure& f) {
  switch (f.quantity) {
    case FigureKind::time_per_token:
    case FigureKind::decode_step:
      return Prediction{decode_seconds(c, f)};
    case FigureKind::decode_time:
      return Prediction{decoding_seconds(c)};
    case FigureKind::first_token:
    case FigureKind::prefill_time:
      return Prediction{prefill_seconds(c)};
    case FigureKind::whole_time:
      return Prediction{whole_seconds(c).value};
    case FigureKind::output_rate:
      return Prediction{c.batch * c.generate / whole_seconds(c).value};
    case FigureKind::total_rate:
      return Prediction{c.batch * (c.prompt + c.generate) / whole_seconds(c).value};
    case FigureKind::decode_rate:
    case FigureKind::decode_rate_first:
    case FigureKind::decode_rate_last:
    case FigureKind::peak_output_rate:
      return Prediction{c.batch / decode_seconds(c, f)};
    case FigureKind::prefill_rate:
      return Prediction{c.batch * c.prompt / prefill_seconds(c)};
    case FigureKind::cache_tokens:
      return Prediction{cache_tokens(c)};
    case FigureKind::memory:
      return Prediction{memory_bytes(c, f)};
    case FigureKind::weight_memory:
      return Prediction{weight_bytes(c)};
    case FigureKind::bandwidth:
      return Prediction{weight_bytes(c) / decode_seconds(c, f)};
    case FigureKind::cache_memory:
    case FigureKind::activation_memory:
    case FigureKind::library_memory:
    case FigureKind::graph_memory:
    case FigureKind::layer_time:
    case FigureKind::utilization:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace llmcalc
