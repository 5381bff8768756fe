#include "ask/answer/interval.hpp"

#include "ask/request/host.hpp"
#include "ask/request/software.hpp"

namespace llmcalc {

bool stands_on_runs(const TrainingEstimator& e, const HardwareCard& card) {
  return e.measured(card.name) || card.measured;
}
bool stands_on_runs(const InferenceEstimator& e, const HardwareCard& card) {
  return e.measured(card.name) || card.measured;
}

bool has_operators_of_engine(const Request& r) {
  return r.engine && r.hardware->measured && r.hardware->measured->engine == r.engine->name;
}

EstimateClass class_of(const Request& r) {
  return estimate_class(r.model.arch, *r.hardware, !stands_on_runs(training_estimator(), *r.hardware));
}

std::optional<EstimateInterval> interval_of(const Request& r) {
  if (!r.software || has_stated_efficiency(r) || r.plan.overlap) return std::nullopt;
  const bool measured = r.run.measured_scale != 1;
  const EstimateInterval i =
      measured ? training_estimator().interval_once_measured(class_of(r)) : training_estimator().interval(class_of(r));
  return i.known() ? std::optional(i) : std::nullopt;
}

std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e) {
  const auto interval = interval_of(r);
  return interval ? std::optional(interval->above(e.bound.total(), e.estimate.total())) : std::nullopt;
}

bool is_new_to_fit(const Request& r) {
  const InferenceEstimator& e = inference_estimator();
  const bool known =
      chip_of(*r.hardware) != Chip::other && stands_on_runs(e, *r.hardware) && (!r.engine || e.ran(r.engine->name));
  return !known;
}

namespace {
/// The class of a figure that drafts or separate pools affect. A prompt alone is affected by neither.
InferenceClass pooled_class(InferenceClass kind) {
  if (kind == InferenceClass::prefill) return kind;
  return kind == InferenceClass::first_token ? InferenceClass::pooled_first : InferenceClass::pooled;
}
}  // namespace

namespace {

/// Whether a benchmark of the engine measured times of this class.
bool has_run_of_class(const Request& r, InferenceClass kind) {
  if (!has_run_of_engine(r)) return false;
  const ServedRun& run = *r.hardware->served;
  if (kind == InferenceClass::prefill || kind == InferenceClass::first_token)
    return run.prompt && run.prompt_class == name(kind);
  return run.decode.has_value();
}

/// The narrower of two intervals.
EstimateInterval narrower(const EstimateInterval& a, const EstimateInterval& b) { return b.factor < a.factor ? b : a; }

/// Interval of an estimate for an engine without drafts or pools.
EstimateInterval plain_interval(const Request& r, InferenceClass kind) {
  const InferenceEstimator& e = inference_estimator();
  const EstimateInterval usual = is_new_to_fit(r) ? e.interval_of_new(kind) : e.interval(kind);
  const EstimateInterval measured = has_operators_of_engine(r) ? e.interval_once_measured(kind) : usual;
  return has_run_of_class(r, kind) ? narrower(measured, e.after_a_run(kind, usual)) : measured;
}

}  // namespace

std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind) {
  if (!r.engine || has_stated_efficiency(r) || r.plan.overlap) return std::nullopt;
  const InferenceEstimator& e = inference_estimator();
  const bool pooled = r.serving.draft_tokens > 0 || r.serving.pools;
  if (pooled) kind = pooled_class(kind);
  EstimateInterval i = plain_interval(r, kind);
  if (const EstimateInterval& wide = e.interval(InferenceClass::assumed); has_assumed_host(r) && wide.factor > i.factor)
    i = wide;
  return i.known() || (pooled && i.families > 0) ? std::optional(i) : std::nullopt;
}

}  // namespace llmcalc
