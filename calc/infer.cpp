#include "calc/infer.hpp"

#include <algorithm>
#include <array>

#include "calc/program.hpp"

namespace llmcalc {
namespace {

PassEstimate pass(const Arch& arch, const Plan& plan, const Device& device, const Step& step, Phase phase) {
  const Pricing p = pricing(plan, phase);
  Clock bound(bound_rates(device, plan), plan, p), estimate(estimated_rates(device, plan), plan, p);
  const bool estimated = has_estimate(device, plan);
  for_each_segment(arch, step, tensor_parallel(plan), [&](const Segment& s) {
    for (const Op& op : s.ops) {
      bound.run(op, s.repeats, false);
      if (estimated) estimate.run(op, s.repeats, false);
    }
  });
  const Flops model = plan.tp == 1 ? bound.cost().model : forward_work(arch, step, p, {}).total();
  return {{bound.time(), estimated ? estimate.time() : bound.time()}, model, bound.cost()};
}

/// Decode steps of one plan at any context: only the attention cores depend on it, so the rest is priced once.
class DecodeCurve {
 public:
  DecodeCurve(const Arch& arch, const Plan& plan, const Device& device)
      : pricing_(pricing(plan, Phase::decode)),
        estimated_(has_estimate(device, plan)),
        bound_(bound_rates(device, plan), plan, pricing_),
        estimate_(estimated_rates(device, plan), plan, pricing_) {
    for_each_segment(arch, decode_step(plan, 1), tensor_parallel(plan), [&](const Segment& s) {
      for (const Op& op : s.ops)
        if (std::holds_alternative<Attention>(op.shape))
          cores_[cores_count_++] = {op, s.repeats};
        else
          run(bound_, estimate_, op, s.repeats);
    });
  }

  PassTime at(Count context) const {
    Clock bound = bound_, estimate = estimate_;
    for (std::size_t i = 0; i < cores_count_; ++i) {
      Op core = cores_[i].op;
      std::get<Attention>(core.shape).past = context - 1;
      run(bound, estimate, core, cores_[i].repeats);
    }
    return {bound.time(), estimated_ ? estimate.time() : bound.time()};
  }

 private:
  void run(Clock& bound, Clock& estimate, const Op& op, Count repeats) const {
    bound.run(op, repeats, false);
    if (estimated_) estimate.run(op, repeats, false);
  }
  struct Core {
    Op op;
    Count repeats;
  };
  Pricing pricing_;
  bool estimated_;
  Clock bound_, estimate_;
  std::array<Core, 8> cores_;
  std::size_t cores_count_ = 0;
};

/// Bytes of the device that a plan may fill.
double usable(const Plan& plan, const Device& device) {
  return static_cast<double>(device.memory.value) * plan.memory_utilization;
}

}  // namespace

PassEstimate prefill(const Arch& arch, const Plan& plan, const Device& device, Count tokens) {
  return pass(arch, plan, device, prefill_step(plan, tokens), Phase::prefill);
}

PassEstimate decode(const Arch& arch, const Plan& plan, const Device& device, Count context) {
  if (!plan.kv_cache) return prefill(arch, plan, device, context);
  return pass(arch, plan, device, decode_step(plan, context), Phase::decode);
}

InferEstimate infer(const Arch& arch, const Plan& plan, const Device& device) {
  const DecodeCurve curve(arch, plan, device);
  const auto step = [&](Count context) -> PassTime {
    if (plan.kv_cache) return curve.at(context);
    return prefill(arch, plan, device, context);
  };
  InferEstimate e{.memory = inference_memory(arch, plan),
                  .prefill = prefill(arch, plan, device, plan.prompt),
                  .middle = decode(arch, plan, device, plan.prompt + plan.generate / 2),
                  .first = step(plan.prompt + 1),
                  .last = step(plan.prompt + plan.generate),
                  .bound = {},
                  .estimate = {},
                  .estimated = has_estimate(device, plan)};
  const auto generation = [&](const auto& total) {
    const Seconds first = total(e.prefill);
    const auto seconds = [&](Count context) { return total(step(context)).value; };
    return Generation{first, first + Seconds(piecewise_sum(plan.prompt + 1, plan.prompt + plan.generate - 1, seconds))};
  };
  e.bound = generation([](const PassTime& t) { return t.bound.total(); });
  e.estimate = e.estimated ? generation([](const PassTime& t) { return t.estimate.total(); }) : e.bound;
  return e;
}

namespace {
/// The smallest n in [1, most] of which `holds`, for a condition that stays true once it is; absent: none.
template <typename Condition>
std::optional<Count> first(Count most, const Condition& holds) {
  if (!holds(most)) return std::nullopt;
  Count low = 0, high = 1;
  while (!holds(high)) low = high, high = std::min(2 * high, most);
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

constexpr Count longest_context = Count{1} << 32;  // no cache that grows fits so many, and no count overflows
constexpr Count largest_batch = Count{1} << 24;
}  // namespace

Limits limits(const Arch& arch, const Plan& plan, const Device& device) {
  if (!plan.kv_cache) return {};
  const double room = usable(plan, device) - static_cast<double>(weights_bytes(arch, plan).value);
  if (room < 0) return {0, 0};
  const auto cache = [&](Count context) { return static_cast<double>(cache_bytes(arch, plan, context).value); };
  const std::optional<Count> too_long =
      first(longest_context, [&](Count context) { return static_cast<double>(plan.batch) * cache(context) > room; });
  Limits l{.max_batch = static_cast<Count>(room / cache(plan.prompt + plan.generate)), .max_context = {}};
  if (too_long) l.max_context = *too_long - 1;
  return l;
}

std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan) {
  const double weights = static_cast<double>(weights_bytes(arch, plan).value);
  return first(longest_context, [&](Count context) {
    return static_cast<double>(plan.batch) * static_cast<double>(cache_bytes(arch, plan, context).value) >= weights;
  });
}

std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Device& device, Count context) {
  return first(largest_batch, [&](Count batch) {
    Plan one = plan;
    one.batch = batch;
    const Cost c = pass(arch, one, device, decode_step(one, context), Phase::decode).rank;
    const double bytes = c.moved.weights + c.moved.cache;
    return static_cast<double>(c.executed.value) * device.bandwidth.value >= bytes * device.peak(plan.precision).value;
  });
}

}  // namespace llmcalc
