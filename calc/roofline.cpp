#include "calc/roofline.hpp"

#include <algorithm>

#include "calc/collective.hpp"

namespace llmcalc {
namespace {

/// Message of one collective: elements x bytes each.
Bytes message(const Collective& c, const Pricing& p) {
  return c.number_bytes > 0 ? Bytes(mul(c.elements, c.number_bytes)) : bytes_of(p.activation, c.elements);
}

Seconds ring(CollectiveOp op, const Collective& c, const Pricing& p, const Rates& r) {
  const Seconds one = collective_time(op, CollectiveAlgorithm::ring, message(c, p), c.ranks, r.link);
  return static_cast<double>(c.repeats) * one;
}

}  // namespace

Link group_link(const Device& d, Count ranks) { return ranks <= d.link.ranks ? d.link : d.network; }

Rates bound_rates(const Device& d, const Plan& plan) {
  return {.compute = d.peak(plan.precision), .memory = d.bandwidth, .link = group_link(d, plan.tp)};
}

bool has_estimate(const Device& d, const Plan& plan) {
  return d.achieved.present || plan.efficiency.has_value() || plan.memory_efficiency.has_value();
}

Rates estimated_rates(const Device& d, const Plan& plan) {
  Rates r = bound_rates(d, plan);
  const Achieved& a = d.achieved;
  r.compute = plan.efficiency.value_or(Device::of(a.matmul, plan.precision)) * r.compute;
  r.memory = plan.memory_efficiency.value_or(a.memory) * r.memory;
  r.link.bandwidth = a.link * r.link.bandwidth;
  r.launch = a.launch;
  if (!a.present) return r;
  r.launch_backward = a.launch_backward, r.functions = a.functions;
  r.recorded = a.recorded, r.recorded_backward = a.recorded_backward;
  r.half_matmul = Device::of(a.half_matmul, plan.precision), r.exposed = Device::of(a.exposed, plan.precision);
  r.attention = Device::of(plan.attention == AttentionImpl::flash ? a.flash : a.naive, plan.precision);
  r.cache_bandwidth = a.cache, r.cache = d.cache;
  return r;
}

Bound bound(const Time& t) {
  const std::array<Seconds, 4> parts{t.compute, t.memory, t.communication, t.latency};
  return static_cast<Bound>(std::max_element(parts.begin(), parts.end()) - parts.begin());
}

namespace {

/// Products that one pass makes of a linear operator: y; or dx and dW. Each expert's apart.
double products(const Linear& s, bool is_backward) {
  const double groups =
      s.top_k > 0 ? groups_touched(s.groups, s.top_k, s.rows / s.top_k) : static_cast<double>(s.groups);
  return (is_backward ? 2 : 1) * groups;
}

FlopsPerSecond reached_compute(const Op& op, const Cost& c, bool is_backward, const Rates& r) {
  if (std::holds_alternative<Attention>(op.shape))
    return r.attention.forward.value > 0 ? r.attention.of(is_backward) : r.compute;
  const Linear* linear = std::get_if<Linear>(&op.shape);
  if (linear == nullptr || r.half_matmul == 0) return r.compute;
  const double flops = static_cast<double>(c.executed.value);
  return flops / (flops + products(*linear, is_backward) * r.half_matmul) * r.compute;
}

BytesPerSecond reached_memory(const Op& op, const Cost& c, const Pricing& p, bool is_backward, const Rates& r) {
  const double all = c.moved.total(), near = c.moved.activations;
  const bool in_cache = !p.training() && r.cache_bandwidth.value > 0 && near <= static_cast<double>(r.cache.value);
  double seconds = (all - near) / r.memory.value + near / (in_cache ? r.cache_bandwidth : r.memory).value;
  if (r.functions > 0) seconds = std::max(seconds, functions(op.shape, is_backward) / r.functions);
  return BytesPerSecond(all / seconds);
}

Seconds reached_launch(const Pricing& p, bool is_backward, const Rates& r) {
  const bool recorded = r.recorded.value > 0 && p.phase != Phase::prefill;
  const Seconds backward = recorded ? r.recorded_backward : r.launch_backward;
  return is_backward && backward.value > 0 ? backward : recorded ? r.recorded : r.launch;
}

}  // namespace

Rates reached(const Op& op, const Cost& c, const Pricing& p, bool is_backward, const Rates& r) {
  Rates own = r;
  if (r.uniform()) return own;
  own.launch = reached_launch(p, is_backward, r);
  own.compute = reached_compute(op, c, is_backward, r);
  if (std::holds_alternative<Attention>(op.shape) && r.attention.forward.value > 0) own.exposed = 0;
  if (c.moved.total() > 0) own.memory = reached_memory(op, c, p, is_backward, r);
  return own;
}

Time op_time(const Cost& c, const Rates& r) {
  const Seconds compute = c.executed / r.compute;
  const Seconds memory(c.moved.total() / r.memory.value);
  if (compute >= memory) return {.compute = compute, .memory = r.exposed * memory, .latency = r.launch};
  return {.compute = r.exposed * compute, .memory = memory, .latency = r.launch};
}

Time exchange_time(const Collective& c, const Pricing& p, const Rates& r, double overlap, bool is_backward) {
  Seconds s;
  if (!is_backward && c.forward_on) s += ring(c.forward, c, p, r);
  if (is_backward && c.backward_on) s += ring(c.backward, c, p, r);
  if (is_backward && c.regather) s += ring(c.forward, c, p, r);
  return {.communication = (1 - overlap) * s};
}

void Clock::run(const Op& op, Count repeats, bool is_backward) {
  const double n = static_cast<double>(repeats);
  if (const Collective* c = std::get_if<Collective>(&op.shape)) {
    time_ += n * exchange_time(*c, pricing_, rates_, plan_.overlap, is_backward);
    return;
  }
  const Cost one = is_backward ? backward(op, pricing_) : forward(op, pricing_);
  cost_ += repeats * one;
  if (plan_.roofline == Roofline::op) time_ += n * op_time(one, reached(op, one, pricing_, is_backward, rates_));
}

Time Clock::time() const {
  if (plan_.roofline == Roofline::op) return time_;
  Cost floor = cost_;  // the whole pass as one operator whose activations never leave the chip
  floor.moved.activations = 0;
  Rates smooth = rates_;
  smooth.exposed = 0, smooth.launch = {};
  Time t = op_time(floor, smooth);
  return t += time_;
}

}  // namespace llmcalc
