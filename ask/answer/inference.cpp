#include "ask/answer/inference.hpp"

#include "ask/answer/process_estimate.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/server.hpp"

namespace llmcalc {

const std::optional<Placement>& InferenceAnswer::placement() const {
  return placement_.get(
      [&] { return has_stages(request_) ? std::optional<Placement>(std::in_place, request_) : std::nullopt; });
}

const Request& InferenceAnswer::fullest_request() const {
  return placement() ? placement()->fullest().request : request_;
}

const PassStages& InferenceAnswer::pass_stages() const {
  return pass_stages_.get([&] {
    return placement() ? placement()->pass_stages() : one_stage(request_.model.arch, request_.hardware->cluster);
  });
}

const InferEstimate& InferenceAnswer::estimate() const {
  return estimate_.get([&] { return infer(request_.model.arch, request_.plan, request_.layout, pass_stages()); });
}

/// Prediction interval, clamped below at the roofline bound.
std::optional<EstimateInterval> InferenceAnswer::interval_above(InferenceClass kind, Seconds bound,
                                                                Seconds estimate) const {
  std::optional<EstimateInterval> widest = interval_of(request_, kind);
  if (placement())
    for (const EngineStage& s : placement()->stages())
      if (const auto one = interval_of(s.request, kind); one && widest && one->factor > widest->factor) widest = one;
  return widest ? std::optional(widest->above(bound, estimate)) : std::nullopt;
}

std::optional<EstimateInterval> InferenceAnswer::interval_of_pass(InferenceClass kind, const PassTime& pass) const {
  return interval_above(kind, pass.bound.total(), pass.estimate.total());
}

std::optional<EstimateInterval> InferenceAnswer::prefill_interval() const {
  return interval_of_pass(InferenceClass::prefill, estimate().prefill);
}

std::optional<EstimateInterval> InferenceAnswer::decode_interval() const {
  return interval_of_pass(InferenceClass::decode, estimate().middle);
}

std::optional<EstimateInterval> InferenceAnswer::first_token_interval() const {
  const InferEstimate& e = estimate();
  return interval_above(InferenceClass::prefill, e.bound.first_token, e.estimate.first_token);
}

std::optional<EstimateInterval> InferenceAnswer::whole_interval() const {
  const InferEstimate& e = estimate();
  return interval_above(InferenceClass::whole_batch, e.bound.total, e.estimate.total);
}

const PassSpent& InferenceAnswer::prefill_spent() const {
  return prefill_spent_.get([&] {
    const Plan& p = request_.plan;
    return staged_spent(pass_stages(), p, request_.layout, pass_stages().prompt_parts, [&](const Device& d) {
      return price_prefill(request_.model.arch, p, request_.layout, d, p.prompt);
    });
  });
}

const PassSpent& InferenceAnswer::decode_spent() const {
  return decode_spent_.get([&] {
    const Plan& p = request_.plan;
    const Count context = p.prompt + p.generate / 2;
    return staged_spent(pass_stages(), p, request_.layout, 1, [&](const Device& d) {
      return price_decode(request_.model.arch, p, request_.layout, d, context);
    });
  });
}

const std::vector<TimeChange>& InferenceAnswer::sensitivity() const {
  return sensitivity_.get([&] { return placement() ? std::vector<TimeChange>() : decode_sensitivity(request_); });
}

const std::optional<EngineCapacity>& InferenceAnswer::capacity() const {
  return capacity_.get([&] {
    if (placement()) return std::optional(placement()->fullest().capacity);
    return has_engine_memory(request_) ? std::optional<EngineCapacity>(std::in_place, request_) : std::nullopt;
  });
}

const Limits& InferenceAnswer::limits() const {
  return limits_.get([&] {
    if (placement()) return placement()->limits();
    if (capacity()) return capacity()->limits(request_);
    return llmcalc::limits(request_.model.arch, request_.plan, request_.layout, request_.hardware->cluster.device);
  });
}

const Memory& InferenceAnswer::memory() const {
  return memory_.get([&] {
    if (capacity()) return capacity()->memory();
    return inference_memory(request_.model.arch, request_.plan, request_.layout, process_bytes(request_));
  });
}

Bytes InferenceAnswer::usable() const { return capacity() ? capacity()->granted() : usable_memory(request_); }

bool InferenceAnswer::fits() const {
  if (placement()) return placement()->fits();
  if (!request_.hardware->cluster.device.host.holds(memory().host)) return false;
  return capacity() ? capacity()->holds_batch() : memory().peak <= usable();
}

}  // namespace llmcalc
