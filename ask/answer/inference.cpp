#include "ask/answer/inference.hpp"

#include "ask/answer/process_estimate.hpp"
#include "ask/request/server.hpp"

namespace llmcalc {
namespace {

/// Prediction interval, clamped below at the roofline bound.
std::optional<EstimateInterval> interval_above(const Request& r, InferenceClass kind, Seconds bound, Seconds estimate) {
  const auto interval = interval_of(r, kind);
  return interval ? std::optional(interval->above(bound, estimate)) : std::nullopt;
}
std::optional<EstimateInterval> interval_above(const Request& r, InferenceClass kind, const PassEstimate& pass) {
  return interval_above(r, kind, pass.bound.total(), pass.estimate.total());
}

}  // namespace

const InferEstimate& InferenceAnswer::estimate() const {
  return estimate_.get(
      [&] { return infer(request_.model.arch, request_.plan, request_.layout, request_.hardware->cluster); });
}

std::optional<EstimateInterval> InferenceAnswer::prefill_interval() const {
  return interval_above(request_, InferenceClass::prefill, estimate().prefill);
}

std::optional<EstimateInterval> InferenceAnswer::decode_interval() const {
  return interval_above(request_, InferenceClass::decode, estimate().middle);
}

std::optional<EstimateInterval> InferenceAnswer::first_token_interval() const {
  const InferEstimate& e = estimate();
  return interval_above(request_, InferenceClass::prefill, e.bound.first_token, e.estimate.first_token);
}

std::optional<EstimateInterval> InferenceAnswer::whole_interval() const {
  const InferEstimate& e = estimate();
  return interval_above(request_, InferenceClass::whole_batch, e.bound.total, e.estimate.total);
}

const PassSpent& InferenceAnswer::prefill_spent() const {
  return prefill_spent_.get([&] {
    const Cluster& on = request_.hardware->cluster;
    const Plan& p = request_.plan;
    const Prices prices = price_prefill(request_.model.arch, p, request_.layout, on.device, p.prompt);
    return pass_spent(prices, whole_model(prices.kinds), request_.layout, on);
  });
}

const PassSpent& InferenceAnswer::decode_spent() const {
  return decode_spent_.get([&] {
    const Cluster& on = request_.hardware->cluster;
    const Plan& p = request_.plan;
    const Count context = p.prompt + p.generate / 2;
    const Prices prices = price_decode(request_.model.arch, p, request_.layout, on.device, context);
    return pass_spent(prices, whole_model(prices.kinds), request_.layout, on);
  });
}

const std::vector<TimeChange>& InferenceAnswer::sensitivity() const {
  return sensitivity_.get([&] { return decode_sensitivity(request_); });
}

const std::optional<EngineCapacity>& InferenceAnswer::capacity() const {
  return capacity_.get([&] {
    return has_engine_memory(request_) ? std::optional<EngineCapacity>(std::in_place, request_) : std::nullopt;
  });
}

const Limits& InferenceAnswer::limits() const {
  return limits_.get([&] {
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
  if (!request_.hardware->cluster.device.host.holds(memory().host)) return false;
  return capacity() ? capacity()->holds_batch() : memory().peak <= usable();
}

}  // namespace llmcalc
