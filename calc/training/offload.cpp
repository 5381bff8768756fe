#include "calc/training/offload.hpp"

#include <algorithm>

#include "calc/pipeline/schedule.hpp"
#include "calc/spent.hpp"

namespace llmcalc {
namespace {

/// Number of elements in a rank's shard of a row, including the shard of its experts.
Count shard(Count own, Count experts, const Layout& l) {
  return add(shard_of(l, ParameterClass::dense, own), shard_of(l, ParameterClass::experts, experts));
}

Bytes weights_of(const LayerPrice& row, const Plan& plan, const Layout& l) {
  if (l.zero != Zero::weights)
    return row.weights + row.borrowed.weights + bytes_of(training_weights(plan), row.tied.trained()) + row.tied_frozen;
  const Learned own = row.learned - row.experts;
  const Borrowed& more = row.borrowed;
  return bytes_of(training_weights(plan),
                  shard(add(add(own.total, row.tied.total), more.own), add(row.experts.total, more.experts), l));
}

Bytes gradients_of(const LayerPrice& row, const Plan& plan, const Layout& l) {
  const Count copied = copies_table(l) ? row.tied.trained() : 0;
  const Count own = add((row.learned - row.experts).trained(), copied), experts = row.experts.trained();
  return Bytes(mul(summed_gradient_bytes(plan), l.zero == Zero::none ? add(own, experts) : shard(own, experts, l)));
}

/// Bytes that a layer saves and that can be offloaded; in a recomputed group, its share of the group's input. Tensors
/// saved by MTP modules are not offloaded.
Bytes saved_by(const LayerPrice& row, const Plan& plan, bool recomputes) {
  if (row.segment != SegmentKind::block || !row.backward || row.mtp) return {};
  if (recomputes || (plan.recompute == Recompute::full && !recomputes_block(plan)))
    return Bytes(row.alive.input.value / (recomputes_groups(plan) ? plan.recompute_layers : 1));
  return row.alive.saved;
}

/// Number of elements that data-parallel ranks do not shard.
Count staying(const SharedNumbers& n, const Layout& l) {
  return add(shards(l, ParameterClass::dense) ? 0 : n.own, shards(l, ParameterClass::experts) ? 0 : n.experts);
}
Count staying(const LargestLayer& n, const Layout& l) {
  return most_of(n, !shards(l, ParameterClass::dense), !shards(l, ParameterClass::experts));
}

/// Bytes of weights in transit from the host: the layer in use (all layers of a recomputed group, or embedding or
/// head) and the next layer. Under ZeRO-3, shards arrive in place within the gathered weights.
Bytes weights_in_transit(const HeldSums& s, const Plan& plan, const Layout& layout) {
  Bytes outside = s.largest_outside, layer = s.largest_layer;
  if (layout.zero == Zero::weights) {
    const auto of = [&](const auto& n) { return bytes_of(training_weights(plan), staying(n, layout)); };
    outside = of(s.weights.outside);
    layer = of(s.weights.largest);
  }
  const Count used = recomputes_groups(plan) ? plan.recompute_layers : 1;
  return std::max(outside, used * layer) + layer;
}

/// Bytes of gradients in transit to the host: of one layer or of the embedding and head, or all gradients if a step
/// accumulates them. Sharded gradients are sent from their buckets.
Bytes gradients_in_transit(const HeldSums& s, const Plan& plan, const Layout& layout) {
  if (layout.zero < Zero::gradients) return {};
  const auto of = [&](const auto& n) { return staying(n, layout); };
  return Bytes(mul(summed_gradient_bytes(plan), gradients_at_once(s.gradients, accumulates_gradients(layout), of)));
}

}  // namespace

void move_to_host(Memory& m, const HeldSums& sums, const StageAlive& alive, const Plan& plan, const Layout& layout) {
  const Offload& o = plan.offload;
  const States updated = updated_states(sums, plan, layout);
  const Bytes weights = share_of(m.weights, o.weights), optimizer = share_of(m.optimizer, o.optimizer);
  const Bytes gradients = share_of(updated.gradients, o.optimizer);
  m.transit = alive.transit + std::min(weights, share_of(weights_in_transit(sums, plan, layout), o.weights)) +
              std::min(gradients, share_of(gradients_in_transit(sums, plan, layout), o.optimizer));
  m.weights -= weights;
  m.optimizer -= optimizer;
  if (layout.zero >= Zero::gradients) m.gradients -= gradients;
  m.host = weights + optimizer + gradients + alive.host;
  if (!keeps_master(plan))
    m.host += std::max(Bytes(), share_of(updated.weights, o.optimizer) - share_of(updated.weights, o.weights));
}

RowTravel row_travel(const LayerPrice& row, const Plan& plan, const Layout& layout, bool recomputes) {
  const Offload& o = plan.offload;
  RowTravel t{.weights = share_of(weights_of(row, plan, layout), o.weights),
              .activations = share_of(saved_by(row, plan, recomputes), o.activations),
              .gradients = share_of(gradients_of(row, plan, layout), o.optimizer)};
  const bool saved = layout.zero == Zero::weights && !layout.reshard;
  if (row.segment == SegmentKind::block && row.backward && !saved) t.backward_weights = t.weights;
  return t;
}

bool updates_on_host(const Plan& plan) {
  return !traits(plan.optimizer).orthogonalizes && optimizer_bytes(plan, {.total = 1, .factored = 1}) > Bytes();
}

Seconds UpdateSeconds::total(Seconds late, double hidden) const {
  return std::max(device, late + beside(host, weights, hidden));
}

UpdateSeconds update_seconds(const States& updated, const Plan& plan, const Rates& rates) {
  const Bytes all = optimizer_traffic(updated, plan);
  if (!plan.offload.any()) return {.device = all / rates.memory, .host = {}, .weights = {}};
  const Ratio by_host = plan.offload.optimizer, there = plan.offload.weights;
  const Bytes host = share_of(all, by_host), updates = share_of(updated.weights, by_host),
              at_host = share_of(updated.weights, there);
  // Without a master copy, a device that updates weights in host memory also reads them from there.
  const Bytes moved = updates >= at_host ? updates - at_host : at_host - updates;
  return {.device = (all - host) / rates.memory,
          .host = rates.host.memory.value > 0 ? host / rates.host.memory : Seconds(),
          .weights = rates.host.link.value > 0 ? moved / rates.host.link : Seconds()};
}

}  // namespace llmcalc
