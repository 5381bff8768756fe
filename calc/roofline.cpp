#include "calc/roofline.hpp"

#include <algorithm>

#include "calc/training/gradient_flow.hpp"

namespace llmcalc {

namespace {
/// Format of Muon's matmuls: bf16, or the working format if the device has no bf16 peak.
DType muon_format(const Device& d, const Plan& plan) {
  return d.peak(dtypes::bf16).value > 0 ? dtypes::bf16 : working_format(plan);
}
}  // namespace

Rates bound_rates(const Device& d, const Plan& plan) {
  const DType working = working_format(plan);
  return {.compute = d.achieved.fastest * d.peak(plan.precision),
          .memory = d.bandwidth,
          .bandwidth = d.bandwidth,
          .working = working == plan.precision ? FlopsPerSecond() : d.achieved.fastest * d.peak(working),
          .orthogonalizing = d.peak(muon_format(d, plan)),
          .host = d.host,
          .hidden_inside = hidden_inside(plan),
          .hidden_overlapped = hidden_overlapped(plan),
          .hidden_tensor = plan.overlap.value_or(d.achieved.software.hidden_tensor > 0 ? 1 : 0),
          .hidden_by_weights = !plan.overlap && d.achieved.software.hidden_by_weights > 0 ? 1.0 : 0.0,
          .hidden_experts = plan.overlap.value_or(d.achieved.software.hidden_experts > 0 ? 1 : 0)};
}

bool has_estimate(const Device& d, const Plan& plan) {
  return d.achieved.present || plan.efficiency.has_value() || plan.memory_efficiency.has_value();
}

Rates estimated_rates(const Device& d, const Plan& plan) {
  Rates r = bound_rates(d, plan);
  const Achieved& a = d.achieved;
  r.compute = plan.efficiency.value_or(Device::of(a.matmul, plan.precision)) * d.peak(plan.precision);
  if (r.mixed())
    r.working = plan.efficiency.value_or(Device::of(a.matmul, working_format(plan))) * d.peak(working_format(plan));
  r.orthogonalizing = plan.efficiency.value_or(Device::of(a.matmul, muon_format(d, plan))) * r.orthogonalizing;
  r.memory = plan.memory_efficiency.value_or(a.memory) * r.memory;
  r.host.memory = a.host_memory * r.host.memory;
  r.host.compute = a.host_compute * r.host.compute;
  r.host.link = a.host_link * r.host.link;
  r.links = a.links;
  r.launch = a.launch;
  if (!a.present) return r;
  r.launch_backward = a.launch_backward;
  r.functions = a.functions;
  r.recorded = a.recorded;
  r.recorded_backward = a.recorded_backward;
  r.half_matmul = Device::of(a.half_matmul, plan.precision);
  r.unaligned = Device::of(a.unaligned, plan.precision);
  r.numbers_in_16_bytes = 128 / whole_bits(plan.precision.format());
  r.exposed = Device::of(a.exposed, plan.precision);
  r.attention = Device::of(plan.attention == AttentionImpl::flash ? a.flash : a.naive, working_format(plan));
  r.cache_bandwidth = a.cache;
  r.cache = d.cache;
  r.software = a.software;
  r.hidden_tensor = plan.overlap.value_or(a.software.hidden_tensor);
  r.hidden_experts = plan.overlap.value_or(a.software.hidden_experts);
  r.hidden_overlapped = plan.overlap.value_or(a.software.hidden_overlapped);
  r.hidden_by_weights = plan.overlap ? 0 : a.software.hidden_by_weights;
  return r;
}

namespace {

HostSide paced_host(HostSide host, const HostSide& most, double times) {
  host.link = std::min(most.link, (1 / times) * host.link);
  host.memory = std::min(most.memory, (1 / times) * host.memory);
  host.compute = std::min(most.compute, (1 / times) * host.compute);
  host.start = times * host.start;
  return host;
}

LinkRates paced_links(LinkRates l, double times) {
  l.inside = std::min(1.0, l.inside / times);
  l.between = std::min(1.0, l.between / times);
  l.round_inside = times * l.round_inside;
  l.round_between = times * l.round_between;
  l.start = times * l.start;
  l.latencies = std::max(1.0, times * l.latencies);
  return l;
}

/// Multiplies the times of launches and of the host.
void pace_overheads(Rates& r, double times) {
  for (Seconds* t : {&r.launch, &r.launch_backward, &r.recorded, &r.recorded_backward, &r.software.kernel,
                     &r.software.collective, &r.software.step, &r.software.sequence})
    *t = times * *t;
}

/// Rates at which every time is multiplied by `times`, up to `most`, the datasheet's rates.
Rates paced(Rates r, const Rates& most, double times) {
  r.compute = std::min(most.compute, (1 / times) * r.compute);
  r.working = std::min(most.working, (1 / times) * r.working);
  r.memory = std::min(most.memory, (1 / times) * r.memory);
  r.attention.forward = std::min(most.mixed() ? most.working : most.compute, (1 / times) * r.attention.forward);
  r.functions /= times;
  r.cache_bandwidth = (1 / times) * r.cache_bandwidth;
  r.host = paced_host(r.host, most.host, times);
  r.links = paced_links(r.links, times);
  pace_overheads(r, times);
  return r;
}

}  // namespace

Rates paced_rates(const Device& d, const Plan& plan, Phase phase) {
  const Rates r = estimated_rates(d, plan);
  if (phase == Phase::training) return r;
  const double times = phase == Phase::prefill ? d.achieved.pace.prompt : d.achieved.pace.decode;
  return times == 1 ? r : paced(r, bound_rates(d, plan), times);
}

Bound bound(const Time& t) {
  const std::array<Seconds, 4> parts{t.compute, t.memory, t.communication, t.latency};
  return static_cast<Bound>(std::max_element(parts.begin(), parts.end()) - parts.begin());
}

namespace {

/// Whether an attention core stores its scores (unfused attention).
bool stores_scores(const Op& op, const Pricing& p) {
  return std::holds_alternative<Attention>(op.shape) && p.attention == AttentionImpl::naive;
}

FlopsPerSecond reached_compute(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r) {
  if (std::holds_alternative<Attention>(op.shape)) {
    if (r.attention.forward.value > 0) return r.attention.of(is_backward(direction));
    return (stores_scores(op, p) ? r.software.naive_products : 1) * format_rate(op, r);
  }
  const Linear* linear = std::get_if<Linear>(&op.shape);
  if (linear == nullptr) return format_rate(op, r);
  const double saved =
      (aligned(*linear, r.numbers_in_16_bytes) ? 1 : r.unaligned) * (linear->top_k > 0 ? r.software.experts : 1);
  const FlopsPerSecond large = saved * format_rate(op, r);
  if (r.half_matmul == 0 || c.executed == Flops()) return large;
  const double flops = static_cast<double>(c.executed.value), products = groups_touched(*linear);
  return flops / (flops + products * r.half_matmul) * large;
}

/// Whether an operator routes tokens to experts and back.
bool routes(const Op& op) {
  const Pointwise* p = std::get_if<Pointwise>(&op.shape);
  return p != nullptr &&
         (p->kind == PointwiseKind::route || p->kind == PointwiseKind::dispatch || p->kind == PointwiseKind::combine);
}

/// Ratio of the bytes that the software's kernels move to the bytes that fused kernels would move.
double traffic(const Op& op, const Pricing& p, const Software& s) {
  if (std::holds_alternative<Linear>(op.shape) || std::holds_alternative<LinearAttention>(op.shape)) return 1;
  if (std::holds_alternative<Attention>(op.shape)) return stores_scores(op, p) ? s.scores : 1;
  if (routes(op)) return s.permuted;
  return std::holds_alternative<Norm>(op.shape) ? s.norm : s.elementwise;
}

BytesPerSecond reached_memory(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r) {
  const double all = c.moved.total(), near = c.moved.activations;
  const bool in_cache = !p.training() && r.cache_bandwidth.value > 0 && near <= static_cast<double>(r.cache.value);
  double seconds = (all - near) / r.memory.value + near / (in_cache ? r.cache_bandwidth : r.memory).value;
  seconds *= traffic(op, p, r.software);
  if (!in_cache && r.bandwidth.value > 0) seconds = std::max(seconds, all / r.bandwidth.value);
  if (r.functions > 0) seconds = std::max(seconds, functions(op.shape, is_backward(direction)) / r.functions);
  return BytesPerSecond(all / seconds);
}

Seconds reached_launch(const Op& op, const Pricing& p, Direction direction, const Rates& r) {
  const bool weights_alone =
      std::holds_alternative<Lookup>(op.shape) || !has_input_gradient(op);  // token ids have no gradient
  if (is_backward(direction) && weights_alone != (direction == Direction::backward_weight)) return {};
  const bool recorded = r.recorded.value > 0 && p.phase != Phase::prefill;
  const Seconds backward = recorded ? r.recorded_backward : r.launch_backward;
  const double n = kernels(op, p, r.software);
  if (is_backward(direction) && backward.value > 0) return n * backward;
  return n * (recorded ? r.recorded : r.launch);
}

}  // namespace

double kernels(const Op& op, const Pricing& p, const Software& s) {
  if (stores_scores(op, p)) return s.kernels.naive_core;
  if (std::holds_alternative<Norm>(op.shape)) return s.kernels.norm;
  if (const Linear* l = std::get_if<Linear>(&op.shape)) return s.loops_experts && l->top_k > 0 ? groups_touched(*l) : 1;
  if (routes(op)) return s.kernels.route;
  if (std::holds_alternative<LinearAttention>(op.shape) && p.phase == Phase::prefill) return s.kernels.scan;
  const Pointwise* pointwise = std::get_if<Pointwise>(&op.shape);
  return pointwise != nullptr && pointwise->kind == PointwiseKind::rope ? s.kernels.rope : 1;
}

OpRates reached(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r) {
  OpRates own = op_rates(r);
  own.launch = reached_launch(op, p, direction, r);
  own.compute = reached_compute(op, c, p, direction, r);
  if (stores_scores(op, p) && r.software.kernels.naive_core > 1) own.exposed = 1;
  if (std::holds_alternative<Attention>(op.shape) && r.attention.forward.value > 0) own.exposed = 0;
  if (c.moved.total() > 0) own.memory = reached_memory(op, c, p, direction, r);
  return own;
}

namespace {

/// Additional seconds if the host runs its share of an operator after the device has finished the rest.
Seconds computed_on_host(const Cost& c, double share, double bytes, const Rates& r) {
  if (bytes <= 0) return {};
  const double compute =
      r.host.compute.value > 0 ? share * static_cast<double>(c.executed.value) / r.host.compute.value : 0;
  const double seconds = std::max(bytes / r.host.memory.value, compute) - bytes / r.memory.value;
  return std::max(Seconds(), Seconds(seconds)) + share * r.host.start;
}

}  // namespace

Seconds host_seconds(const Op& op, const Cost& c, const Pricing& p, const Rates& r) {
  if (!p.offload.any() || r.host.link.value <= 0) return {};
  const double share = host_share(p.offload, op.component).value();
  const double weights = share * c.moved.weights, cache = p.offload.cache.value() * c.moved.cache;
  if (r.host.computes && p.phase == Phase::decode)
    return computed_on_host(c, std::max(share, cache > 0 ? p.offload.cache.value() : 0), weights + cache, r);
  const double passes = p.phase == Phase::prefill ? real(p.offload.passes) : 1;
  return Seconds((passes * weights + cache) / r.host.link.value);
}

Time operator_time(const Op& op, const Pricing& p, Direction direction, const Rates& r) {
  const Cost c = cost(op, p, direction);
  Time t = op_time(c, reached(op, c, p, direction, r));
  t.memory += host_seconds(op, c, p, r);
  return t;
}

Time backward_time(const Op& op, const Pricing& p, const Rates& r) {
  Time t = operator_time(op, p, Direction::backward_input, r);
  return t += operator_time(op, p, Direction::backward_weight, r);
}

Time step_time(Seconds compute, const Cost& whole, const Rates& r) {
  const Seconds memory((whole.moved.weights + whole.moved.cache) / r.memory.value);
  return compute >= memory ? Time{.compute = compute} : Time{.memory = memory};
}

}  // namespace llmcalc
