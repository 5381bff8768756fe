#include "search/least_memory.hpp"

#include <algorithm>

#include "calc/arch/cross_layer.hpp"
#include "calc/training/offload.hpp"

namespace llmcalc {
namespace {

/// Lower bound on the bytes that a layer saves on the device. A group of recomputed layers shares one saved input,
/// which counts as 0.
Bytes least_saved(const LayerPrice& row, const Plan& plan) {
  const auto on_device = [&](Bytes all) { return all - share_of(all, plan.offload.activations); };
  const Bytes all = on_device(row.alive.saved), input = on_device(row.backward ? row.alive.input : Bytes());
  if (plan.recompute != Recompute::full) return all;
  return recomputes_groups(plan) ? Bytes() : std::min(all, input);
}

/// Lower bound on the bytes that a rank needs while its last layer runs, in addition to the bytes that the layer saves.
/// If layers share tensors, backward may free some of them first, so only the forward pass counts.
Bytes least_rest(const Prices& prices, const Plan& plan) {
  const bool shares = !cross_layer_tensors(prices.kinds).empty() || prices.embedding().alive.awaited != Bytes();
  Bytes least;
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) {
    const Liveness& l = prices.layer(k).alive;
    const Bytes live = shares ? l.forward : std::max(l.forward, l.backward), saved = least_saved(prices.layer(k), plan);
    const Bytes rest = live - std::min(live, saved);
    least = k == 0 ? rest : std::min(least, rest);
  }
  return least;
}

/// Peak of the last rank if it has only the last layer and the head.
Bytes peak_of_end(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process) {
  const Count layers = whole_model(prices.kinds).end;
  const ChunkInFlight end{{layers - 1, layers, false, true}};
  return stage_memory(prices, plan, layout, {&end, 1}, process).peak;
}

}  // namespace

double least_peak(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process) {
  const Count stages = ranks(layout, Group::pipeline);
  HeldRows all{.embedding = true, .head = true};
  StageAlive alive;
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) {
    all.layers[k] = prices.kinds[k].count;
    alive.saved += prices.kinds[k].count * least_saved(prices.layer(k), plan);
  }
  const Memory m = stage_memory(prices, held_sums(prices, all), alive, plan, layout, process);
  const Bytes held = m.weights + m.gradients + m.optimizer + alive.saved;
  const Bytes other = least_rest(prices, plan) + m.collective_call + process;
  const double mean = static_cast<double>(held.value) / static_cast<double>(stages) + static_cast<double>(other.value);
  return std::max(mean, static_cast<double>(peak_of_end(prices, plan, layout, process).value));
}

}  // namespace llmcalc
