#include "search/least_memory.hpp"

#include <algorithm>

#include "calc/training/offload.hpp"

namespace llmcalc {
namespace {

/// Lower bound on the bytes that a layer saves on the device. Groups of recomputed layers share one input, which counts
/// as 0.
Bytes least_saved(const LayerPrice& row, const Plan& plan) {
  const auto on_device = [&](Bytes all) { return all - share_of(all, plan.offload.activations); };
  const Bytes all = on_device(row.alive.saved), input = on_device(row.backward ? row.alive.input : Bytes());
  if (plan.recompute != Recompute::full) return all;
  if (recomputes_groups(plan)) return {};
  return recomputes_block(plan) ? std::min(all, input) : input;
}

}  // namespace

double least_peak(const Prices& prices, const Plan& plan, const Layout& layout) {
  HeldRows all{.embedding = true, .head = true};
  StageAlive alive;
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) {
    all.layers[k] = prices.kinds[k].count;
    alive.saved += prices.kinds[k].count * least_saved(prices.layer(k), plan);
  }
  const Memory m = stage_memory(prices, held_sums(prices, all), alive, plan, layout);
  const Bytes held = m.weights + m.gradients + m.optimizer + alive.saved;
  return static_cast<double>(held.value) / static_cast<double>(ranks(layout, Group::pipeline));
}

}  // namespace llmcalc
