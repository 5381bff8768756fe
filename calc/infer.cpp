#include "calc/infer.hpp"

#include <algorithm>

#include "calc/search.hpp"

namespace llmcalc {
namespace {

/// Bytes of the device that a plan may fill.
double usable(const Plan& plan, const Device& device) {
  return static_cast<double>(device.memory.value) * plan.memory_utilization;
}

}  // namespace

PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count tokens) {
  return assemble_pass(price_prefill(arch, plan, layout, cluster.device, tokens), plan, layout, cluster);
}

PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context) {
  return assemble_pass(price_decode(arch, plan, layout, cluster.device, context), plan, layout, cluster);
}

InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  const Count end = add(plan.prompt, plan.generate), chunk = arch.local.reach.chunked ? arch.local.reach.tokens : 0;
  const PassCurve curve(arch, plan, layout, cluster, end);
  const Prices prompt = price_prefill(arch, plan, layout, cluster.device, plan.prompt);
  const auto step = [&](Count context) {
    return plan.kv_cache ? curve.at(context) : prefill(arch, plan, layout, cluster, context);
  };
  const Bytes last = plan.kv_cache ? curve.workspace() : pass_workspace(price_decode(arch, plan, layout, {}, end));
  InferEstimate e{.memory = inference_memory(prompt, last, plan, cluster.device.achieved.overhead),
                  .prefill = assemble_pass(prompt, plan, layout, cluster),
                  .middle = step(plan.prompt + plan.generate / 2),
                  .first = step(plan.prompt + 1),
                  .last = step(end),
                  .bound = {},
                  .estimate = {},
                  .estimated = prompt.estimated};
  const BothSeconds steps = piecewise_sum(plan.prompt + 1, end - 1, chunk, [&](Count context) {
    const PassTime t = step(context);
    return BothSeconds{t.bound.total().value, t.estimate.total().value};
  });
  const Seconds bound = e.prefill.bound.total(), estimate = e.prefill.estimate.total();
  e.bound = {bound, bound + Seconds(steps.bound)};
  e.estimate = {estimate, estimate + Seconds(steps.estimate)};
  return e;
}

namespace {
constexpr Count largest_batch = Count{1} << 24;
Count longest_context(const Arch& a) { return a.position == Position::learned ? a.position_rows : longest_searched; }
}  // namespace

Limits limits(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  if (!plan.kv_cache) return {};
  const double room = usable(plan, device);
  const auto too_much = [&](const Plan& p) {
    try {
      return static_cast<double>(inference_memory(arch, p, layout, device.achieved.overhead).peak.value) > room;
    } catch (const Overflow&) {
      return true;
    }
  };
  Limits l;
  l.max_batch = first(largest_batch, [&](Count batch) {
    Plan p = plan;
    p.batch = batch;
    return too_much(p);
  });
  // A context is the prompt and the generated tokens, at most `generate` of them.
  l.max_context = first(longest_context(arch) + 1, [&](Count context) {
    Plan p = plan;
    p.generate = std::clamp<Count>(context - 1, 0, plan.generate);
    p.prompt = context - p.generate;
    return context > longest_context(arch) || too_much(p);
  });
  if (l.max_batch) --*l.max_batch;
  if (l.max_context) --*l.max_context;
  return l;
}

std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan, const Layout& layout) {
  const Prices held = price_holdings(arch, plan, layout);
  const double weights = static_cast<double>(weights_bytes(held).value);
  return first(longest_searched, [&](Count context) {
    return static_cast<double>(plan.batch) * static_cast<double>(cache_bytes(held, context).value) >= weights;
  });
}

std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                                         Count context) {
  return first(largest_batch, [&](Count batch) {
    Plan one = plan;
    one.batch = batch;
    one.roofline = Roofline::step;
    const Prices step = price_pass(arch, one, layout, device, decode_step(one, context), Phase::decode);
    return assemble_pass(step, one, layout, {}).bound.compute > Seconds();
  });
}

}  // namespace llmcalc
