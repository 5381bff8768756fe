#include "calc/memory.hpp"

#include <algorithm>

#include "calc/arch/cross_layer.hpp"
#include "calc/training/offload.hpp"

namespace llmcalc {
namespace {

/// Parameters of a rank, whole or sharded.
struct NumberShares {
  const Layout& layout;
  const HeldSums& held;
  Learned of(bool sharded) const {
    if (!sharded) return held.all;
    Learned all = shard(held.all - held.experts, ParameterClass::dense);
    all += shard(held.experts, ParameterClass::experts);
    return all;
  }
  /// The shard of one class. Its trained() is the shard of the class's trained elements.
  Learned shard(const Learned& n, ParameterClass c) const {
    const Count d = ranks(layout, state_groups(c).shard);
    const auto part = [&](Count count) { return ceil_div(count, d); };
    return {.total = part(n.total),
            .frozen = part(n.total) - part(n.trained()),
            .factored = part(n.factored),
            .adamw = part(n.adamw)};
  }
  /// Bytes of frozen weights.
  Bytes frozen(bool sharded) const {
    if (!sharded) return held.frozen + held.frozen_experts;
    return Bytes(add(shard_of(layout, ParameterClass::dense, held.frozen.value),
                     shard_of(layout, ParameterClass::experts, held.frozen_experts.value)));
  }
};

States states_of(const Plan& plan, const NumberShares& s, Zero weights, Zero gradients, Zero optimizer) {
  const Learned whole = s.of(false), part = s.layout.zero == Zero::none ? whole : s.of(true);
  const auto from = [&](Zero stage) -> const Learned& { return s.layout.zero >= stage ? part : whole; };
  const Learned& o = from(optimizer);
  return {.weights = bytes_of(training_weights(plan), from(weights).trained()),
          .gradients = Bytes(mul(plan.gradient_bytes, from(gradients).trained())),
          .optimizer = optimizer_bytes(plan, o),
          .frozen = s.frozen(s.layout.zero == Zero::weights),
          .parameters = whole.total,
          .trained = whole.trained()};
}

HeldRows rows_of(const Prices& p, std::span<const ModelChunk> chunks) {
  HeldRows rows;
  for (const ModelChunk& c : chunks) add(rows, p.kinds, c);
  return rows;
}

/// Number of elements communicated between the ranks across which one copy is sharded. `own` and expert elements each
/// count only if they are sharded across several ranks. Replicas all-reduce their shards in place.
Count traveling(const SharedNumbers& n, const Layout& layout) {
  return add(shards(layout, ParameterClass::dense) ? n.own : 0,
             shards(layout, ParameterClass::experts) ? n.experts : 0);
}
Count traveling(const LargestLayer& n, const Layout& layout) {
  return most_of(n, shards(layout, ParameterClass::dense), shards(layout, ParameterClass::experts));
}
Bytes gathered(const HeldSums& s, const Plan& plan, const Layout& layout) {
  if (layout.zero != Zero::weights) return {};
  const Traveling& w = s.weights;
  const auto of = [&](const auto& n) { return traveling(n, layout); };
  const Count layers = layout.reshard ? std::min(of(w.layers), mul(2, of(w.largest))) : of(w.layers);
  return bytes_of(training_weights(plan), add(of(w.outside), layers));
}

Bytes buckets(const HeldSums& s, const Plan& plan, const Layout& layout) {
  if (layout.zero < Zero::gradients) return {};
  const auto of = [&](const auto& n) { return traveling(n, layout); };
  return Bytes(mul(summed_gradient_bytes(plan), gradients_at_once(s.gradients, accumulates_gradients(layout), of)));
}

template <typename Part>
auto sum_of(const Prices& p, const Part& part) {
  auto sum = part(p.embedding());
  for (const LayerPrice& row : p.rows)
    if (&row != &p.embedding()) sum += row.layers * part(row);
  return sum;
}

}  // namespace

void add(HeldRows& rows, const LayerKinds& kinds, const ModelChunk& chunk) {
  for (std::size_t k = 0; k < kinds.size(); ++k) rows.layers[k] += layers_in(kinds[k], chunk);
  rows.embedding = rows.embedding || chunk.embedding;
  rows.head = rows.head || chunk.head;
}

namespace {
SharedNumbers all_of(const LayerPrice& row) { return {row.learned.total - row.experts.total, row.experts.total}; }
SharedNumbers trained_of(const LayerPrice& row) {
  return {row.learned.trained() - row.experts.trained(), row.experts.trained()};
}
void hold(HeldSums& s, const LayerPrice& row, Count n) {
  s.all += n * row.learned;
  s.experts += n * row.experts;
  s.frozen += n * row.frozen;
  s.frozen_experts += n * row.frozen_experts;
}
}  // namespace

namespace {
/// Adds the MTP modules, each of which is gathered and reduced like a layer.
void hold_modules(HeldSums& s, const Prices& p) {
  SharedNumbers all, trained;
  Bytes weights;
  for (const LayerPrice& part : p.mtp()) {
    hold(s, part, part.layers);
    s.weights.layers.add(all_of(part), part.layers);
    s.gradients.layers.add(trained_of(part), part.layers);
    all.add(all_of(part), 1);
    trained.add(trained_of(part), 1);
    weights += part.weights;
  }
  s.weights.largest.see(all);
  s.gradients.largest.see(trained);
  s.largest_layer = std::max(s.largest_layer, weights);
}
}  // namespace

HeldSums held_sums(const Prices& p, const HeldRows& rows) {
  HeldSums s;
  const auto outside = [&](const LayerPrice& row) {
    hold(s, row, 1);
    s.weights.outside.add(all_of(row), 1);
    s.gradients.outside.add(trained_of(row), 1);
    s.largest_outside = std::max(s.largest_outside, row.weights);
  };
  if (rows.embedding) outside(p.embedding());
  for (std::size_t k = 0; k < p.kinds.size(); ++k) {
    const Count n = rows.layers[k];
    if (n == 0) continue;
    const LayerPrice& row = p.layer(k);
    hold(s, row, n);
    s.weights.layers.add(all_of(row), n);
    s.weights.largest.see(all_of(row));
    s.gradients.layers.add(trained_of(row), n);
    s.gradients.largest.see(trained_of(row));
    s.largest_layer = std::max(s.largest_layer, row.weights);
  }
  if (rows.head) {
    outside(p.head());
    hold_modules(s, p);
  }
  if (rows.head && !rows.embedding) {  // the last stage has a copy of the token embedding
    const Learned& table = p.head().tied;
    s.all += table;
    s.frozen += p.head().tied_frozen;
    s.weights.outside.add({.own = table.total}, 1);
    s.gradients.outside.add({.own = table.trained()}, 1);
  }
  return s;
}

States training_states(const HeldSums& sums, const Plan& plan, const Layout& layout) {
  return states_of(plan, {layout, sums}, Zero::weights, Zero::gradients, Zero::optimizer);
}
States updated_states(const HeldSums& sums, const Plan& plan, const Layout& layout) {
  return states_of(plan, {layout, sums}, Zero::optimizer, Zero::optimizer, Zero::optimizer);
}
States training_states(const Prices& prices, const Plan& plan, const Layout& layout,
                       std::span<const ModelChunk> chunks) {
  return training_states(held_sums(prices, rows_of(prices, chunks)), plan, layout);
}
States updated_states(const Prices& prices, const Plan& plan, const Layout& layout,
                      std::span<const ModelChunk> chunks) {
  return updated_states(held_sums(prices, rows_of(prices, chunks)), plan, layout);
}

Bytes waiting_for_encoder(const Prices& pass) { return pass.embedding().alive.output - pass.layer(0).alive.input; }

Bytes pass_workspace(const Prices& pass) {
  const std::vector<CrossLayerTensor> shared_kv = cross_layer_tensors(pass.kinds);
  const auto each = [&](std::size_t kind) { return pass.layer(kind).alive.carried; };
  // `carried` and `choice` are bytes of earlier rows that are still live.
  Bytes most = pass.embedding().alive.forward, carried = pass.embedding().alive.carried, choice;
  const Count encoder = encoder_end(pass.kinds);
  for (std::size_t k = 0; k < pass.kinds.size(); ++k) {
    const LayerKind& kind = pass.kinds[k];
    const Liveness& l = pass.layer(k).alive;
    const bool makes_its_own = l.cross_layer_tensors != Bytes();
    Bytes before = carried + (makes_its_own ? Bytes() : choice);
    if (kind.last <= encoder) before += waiting_for_encoder(pass);
    most = std::max(most, l.forward + before + cross_layer_bytes(shared_kv, kind, each));
    if (!kind.shares_onward()) carried += l.carried;
    if (makes_its_own) choice = l.cross_layer_tensors;
  }
  most = std::max(most, pass.head().alive.forward);
  for (const LayerPrice& part : pass.mtp()) most = std::max(most, part.alive.forward);
  return most;
}

Bytes held_bytes(const Prices& prices, const WeightFormats& stored_in, Component c) {
  Bytes all;
  for (const Owner owner : {Owner::model, Owner::modules}) all += stored_in.held(c, prices.weights_of(owner)[c], owner);
  return all;
}

Bytes weights_bytes(const Prices& prices, const WeightFormats& stored_in) {
  Bytes all;
  for (std::size_t i = 0; i < component_count; ++i) all += held_bytes(prices, stored_in, static_cast<Component>(i));
  return all;
}

Bytes host_weights_bytes(const Prices& prices, const Plan& plan) {
  Bytes all;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto c = static_cast<Component>(i);
    all += share_of(held_bytes(prices, plan.weight_precision, c), host_share(plan.offload, c));
  }
  return all;
}

Memory stage_memory(const Prices& prices, const HeldSums& sums, const StageAlive& alive, const Plan& plan,
                    const Layout& layout, Bytes process) {
  const States s = training_states(sums, plan, layout);
  Memory m{.weights = s.weights + s.frozen,
           .gradients = s.gradients,
           .optimizer = s.optimizer,
           .parameters = s.parameters,
           .trained = s.trained};
  m.activations = alive.saved;
  m.logits = alive.logits;
  const Bytes live = alive.saved + alive.rest;
  m.process = process;
  m.gathered = gathered(sums, plan, layout);
  m.buckets = buckets(sums, plan, layout);
  if (ranks(layout, Group::pipeline) > 1) m.collective_call = 2 * prices.layer(0).alive.input;
  if (plan.offload.any()) move_to_host(m, sums, alive, plan, layout);
  m.workspace = std::max(Bytes(), live - std::min(live, m.activations + m.logits));
  const Bytes besides =
      m.weights + m.gradients + m.optimizer + m.gathered + m.buckets + m.collective_call + m.transit + m.process;
  m.total = besides + m.activations + m.logits + m.workspace;
  m.peak = besides + live;
  return m;
}

Memory stage_memory(const Prices& prices, const Plan& plan, const Layout& layout, std::span<const ChunkInFlight> held,
                    Bytes process) {
  HeldRows rows;
  StageAlive alive;
  for (const ChunkInFlight& h : held) {
    add(rows, prices.kinds, h.chunk);
    add(alive, chunk_alive(prices, plan, h.chunk), h.micro_batches, h.for_weights, h.on_host);
  }
  return stage_memory(prices, held_sums(prices, rows), alive, plan, layout, process);
}

Memory training_memory(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process) {
  const ChunkInFlight all{whole_model(prices.kinds)};
  return stage_memory(prices, plan, layout, {&all, 1}, process);
}

Bytes media_encoder_bytes(const Plan& plan, const Layout& layout) {
  return plan.media_encoders + Bytes(ceil_div(plan.cut_media_encoders.value, ranks(layout, Group::tensor)));
}

Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, const Layout& layout,
                        Bytes process) {
  Memory m{.weights = weights_bytes(prefill, plan.weight_precision),
           .media_encoders = media_encoder_bytes(plan, layout),
           .process = process};
  m.parameters = sum_of(prefill, [](const LayerPrice& row) { return row.learned; }).total;
  if (plan.kv_cache) m.kv_cache = plan.batch * cache_bytes(prefill, add(plan.prompt, plan.generate));
  const Bytes weights = host_weights_bytes(prefill, plan), cache = share_of(m.kv_cache, plan.offload.cache);
  m.weights -= weights;
  m.kv_cache -= cache;
  m.host = weights + cache;
  m.workspace = std::max(pass_workspace(prefill), workspace_of_last);
  if (plan.kv_cache) m.workspace += plan.batch * open_bytes(prefill);
  m.total = m.peak = m.weights + m.media_encoders + m.kv_cache + m.workspace + m.process;
  return m;
}

Bytes cache_bytes(const Prices& prices, Count context) {
  return sum_of(prices, [&](const LayerPrice& row) { return row.cache.of(context); });
}

Bytes cache_bytes_per_token(const Prices& prices) {
  return sum_of(prices, [](const LayerPrice& row) { return row.cache.each(); });
}

Bytes open_bytes(const Prices& prices) {
  return sum_of(prices, [](const LayerPrice& row) { return row.cache.open; });
}

Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout) {
  const Count tokens = arch.is_encoder_decoder() ? plan.prompt : 1;  // the decoder caches all of the encoder's tokens
  return price_pass(arch, plan, layout, {}, prefill_step(plan, tokens), Phase::prefill);
}

States training_states(const Arch& arch, const Plan& plan, const Layout& layout) {
  Plan token = plan;
  token.seq = token.micro_batch = token.global_batch = 1;
  const Prices prices = price_pass(arch, token, layout, {}, training_step(token), Phase::training);
  const ModelChunk all = whole_model(prices.kinds);
  return training_states(prices, plan, layout, {&all, 1});
}
Bytes weights_bytes(const Arch& arch, const Plan& plan, const Layout& layout) {
  return weights_bytes(price_holdings(arch, plan, layout), plan.weight_precision);
}
Memory training_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes process) {
  return training_memory(price(arch, plan, layout, {}), plan, layout, process);
}
Memory inference_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes process) {
  const Prices last = price_last(arch, plan, layout, {});
  const Prices prompt = price_prefill(arch, plan, layout, {}, plan.prompt);
  return inference_memory(prompt, pass_workspace(last), plan, layout, process);
}
Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context, const Layout& layout) {
  return cache_bytes(price_holdings(arch, plan, layout), context);
}
Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan, const Layout& layout) {
  return cache_bytes_per_token(price_holdings(arch, plan, layout));
}

Bytes growing_cache_bytes(const Arch& arch, const Plan& plan, const Layout& layout) {
  return sum_of(price_holdings(arch, plan, layout), [](const LayerPrice& row) {
    return row.cache.reach.limited() ? row.cache.each() - row.cache.per_token : row.cache.each();
  });
}

Bytes open_bytes(const Arch& arch, const Plan& plan, const Layout& layout) {
  return open_bytes(price_holdings(arch, plan, layout));
}

}  // namespace llmcalc
