#include "serve/adapters.hpp"

#include <algorithm>

namespace llmcalc {

namespace {

Step with_adapters(Step step, const ServedAdapters& adapters) {
  step.lora_rank = adapters.rank;
  step.lora_targets = adapters.targets;
  return step;
}

/// Bytes of one adapter: the weight bytes of all rows with the adapter, minus those without it.
Bytes one_adapter(const Arch& arch, const Plan& plan, const Layout& layout, const ServedAdapters& adapters) {
  const Step step = prefill_step(plan, 1);
  const auto held = [&](const Step& s) {
    Bytes all;
    for (const LayerPrice& row : price_pass(arch, plan, layout, {}, s, Phase::prefill).rows)
      all += row.layers * row.weights;
    return all;
  };
  return held(with_adapters(step, adapters)) - held(step);
}

}  // namespace

Bytes adapter_bytes(const Arch& arch, const Plan& plan, const Layout& layout, const ServedAdapters& adapters) {
  if (adapters.resident == 0) return {};
  return adapters.resident * one_adapter(arch, plan, layout, adapters);
}

Seconds adapter_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Step step,
                        Phase phase, const ServedAdapters& adapters) {
  if (adapters.resident == 0) return {};
  const Pricing p = pricing(plan, phase, layout);
  const Rates r = has_estimate(device, plan) ? paced_rates(device, plan, phase) : bound_rates(device, plan);
  const auto all = [&](const Step& s) {
    Seconds sum;
    for_each_operator(arch, plan, layout, s, [&](const OperatorRow& row) {
      sum += static_cast<double>(row.segment.repeats) * operator_time(row.op, p, Direction::forward, r).total();
    });
    return sum;
  };
  const Count others = std::min(adapters.resident, step.tokens()) - 1;
  const auto read = static_cast<double>((others * one_adapter(arch, plan, layout, adapters)).value);
  return all(with_adapters(step, adapters)) - all(step) + Seconds(read / r.memory.value);
}

}  // namespace llmcalc
