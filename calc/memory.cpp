#include "calc/memory.hpp"

#include <algorithm>

#include "calc/offload.hpp"

namespace llmcalc {
namespace {

/// Bytes that a chunk keeps for backward per micro-batch, and its peak while it runs.
class ChunkTensors {
 public:
  ChunkTensors(const Prices& p, const Plan& plan, const ModelChunk& c)
      : p_(p), c_(c), again_(first_layers(c, 0)), group_(plan.recompute_layers), away_(plan.offload.activations) {
    if (plan.recompute != Recompute::full) return;
    again_ = recomputes_block(plan) ? first_layers(c, plan.recompute_layers) : c;
    in_groups_ = !recomputes_block(plan) && group_ > 1;
  }

  /// Bytes kept for backward on the device.
  Bytes kept() const { return kept_below(c_.end) + (c_.head ? p_.head().alive.kept : Bytes()); }

  /// Bytes kept for backward on the host, and the most of one layer.
  Bytes on_host() const {
    if (in_groups_) return ceil_div(c_.layers(), group_) * share_of(p_.layer(0).alive.input, away_);
    Bytes all;
    for_each_kept([&](Bytes one, Count n) { all += n * share_of(one, away_); });
    return all;
  }
  Bytes in_transit() const {
    if (in_groups_) return share_of(p_.layer(0).alive.input, away_);
    Bytes most;
    for_each_kept([&](Bytes one, Count) { most = std::max(most, share_of(one, away_)); });
    return most;
  }

  /// Peak of what is alive besides the states. Kept bytes only grow, so each kind's worst moment is in its last layer,
  /// among those that run again and among the others. The peak is never in the embedding (a layer's final residual add
  /// holds as much) nor in the head's forward pass (its backward pass holds the same tensors plus a gradient).
  Bytes peak() const {
    const Bytes live = kept_below(c_.end) + (c_.head ? p_.head().alive.backward : Bytes());
    if (in_groups_) return std::max(live, peak_of_groups());
    return std::max(live, std::max(peak_of(again_, true), peak_of({again_.end, c_.end, false, false}, false)));
  }

 private:
  /// Bytes of its layers below `end`, and of the embedding. Of layers that run again only inputs are kept, one for each
  /// group.
  Bytes kept_below(Count end) const {
    Bytes kept = c_.embedding ? p_.embedding().alive.kept : Bytes();
    if (in_groups_) return kept + groups_below(end) * here(p_.layer(0).alive.input);
    const Count split = std::min(end, again_.end);
    for (std::size_t k = 0; k < p_.kinds.size; ++k) {
      const LayerKind& kind = p_.kinds.kinds[k];
      const Liveness& l = p_.layer(k).alive;
      if (split > c_.first) kept += layers_in(kind, {c_.first, split}) * here(input_of(k));
      if (end > split) kept += layers_in(kind, {split, end}) * here(l.kept);
    }
    return kept;
  }
  Bytes here(Bytes kept) const { return kept - share_of(kept, away_); }
  /// Bytes that a recomputed layer keeps: its input, or nothing where no gradient passes through it.
  Bytes input_of(std::size_t k) const { return p_.layer(k).backward ? p_.layer(k).alive.input : Bytes(); }
  /// Calls f(bytes, n) for n layers of a kind that keep so much each.
  template <typename F>
  void for_each_kept(const F& f) const {
    for (std::size_t k = 0; k < p_.kinds.size; ++k) {
      const LayerKind& kind = p_.kinds.kinds[k];
      if (const Count n = layers_in(kind, {c_.first, again_.end}); n > 0) f(input_of(k), n);
      if (const Count n = layers_in(kind, {again_.end, c_.end}); n > 0) f(p_.layer(k).alive.kept, n);
    }
  }
  /// Groups that begin below `end`, without those through which backward does not pass.
  Count groups_below(Count end) const {
    Count lowest = c_.end;
    for (std::size_t k = 0; k < p_.kinds.size; ++k)
      if (p_.layer(k).backward) lowest = std::min(lowest, p_.kinds.kinds[k].first);
    const Count before = std::max(lowest, c_.first) - c_.first;
    return std::max(Count{0}, ceil_div(end - c_.first, group_) - before / group_);
  }
  /// Peak of one layer, without the bytes that the layers below it keep. A recomputed layer also holds the gradient of
  /// its result.
  static Bytes worst(const Liveness& l, bool again) {
    return std::max(again ? l.forward + l.output : l.forward, l.backward);
  }
  Bytes peak_of(const ModelChunk& part, bool again) const {
    Bytes live;
    for (std::size_t k = 0; k < p_.kinds.size; ++k) {
      const LayerKind& kind = p_.kinds.kinds[k];
      if (layers_in(kind, part) > 0)
        live = std::max(live, kept_below(kind.layers.last_below(part.end)) +
                                  worst(p_.layer(k).alive, again && p_.layer(k).backward));
    }
    return live;
  }
  /// A group runs forward again as a whole, keeping what its backward needs, and then backward.
  Bytes peak_of_groups() const {
    Bytes live, within;
    for (Count i = c_.first; i < c_.end; ++i) {
      const Count begin = i - (i - c_.first) % group_;
      if (i == begin) within = Bytes();
      const LayerPrice& row = p_.layer(kind_index(p_.kinds, i));
      const Liveness& l = row.alive;
      live = std::max(live, kept_below(begin) + within + worst(l, row.backward));
      within += l.kept;
    }
    return live;
  }

  const Prices& p_;
  const ModelChunk& c_;
  ModelChunk again_;  // layers of which only inputs are kept
  Count group_;
  Ratio away_;  // of kept bytes on the host
  bool in_groups_ = false;
};

/// Numbers of a rank, or of its shard.
struct Shares {
  const Layout& layout;
  const HeldSums& held;
  Learned of(bool sharded) const {
    if (!sharded) return held.all;
    const Learned own = held.all - held.experts;
    const Count d = ranks(layout, Group::shard), e = ranks(layout, Group::expert_data);
    return {.total = add(ceil_div(own.total, d), ceil_div(held.experts.total, e)),
            // so that trained() is the share of what is trained
            .frozen = add(ceil_div(own.total, d) - ceil_div(own.trained(), d),
                          ceil_div(held.experts.total, e) - ceil_div(held.experts.trained(), e)),
            .factored = add(ceil_div(own.factored, d), ceil_div(held.experts.factored, e)),
            .adamw = add(ceil_div(own.adamw, d), ceil_div(held.experts.adamw, e))};
  }
  /// Bytes of frozen weights.
  Bytes frozen(bool sharded) const {
    if (!sharded) return held.frozen + held.frozen_experts;
    return Bytes(add(ceil_div(held.frozen.value, ranks(layout, Group::shard)),
                     ceil_div(held.frozen_experts.value, ranks(layout, Group::expert_data))));
  }
};

States states_of(const Plan& plan, const Shares& s, Zero weights, Zero gradients, Zero optimizer) {
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

/// Numbers that travel between data-parallel ranks: a rank's own where several hold the same, its experts likewise.
Count travelling(const SharedNumbers& n, const Layout& layout, Group own) {
  return add(ranks(layout, own) > 1 ? n.own : 0, ranks(layout, Group::expert_data) > 1 ? n.experts : 0);
}
Count travelling(const LargestLayer& n, const Layout& layout, Group own) {
  return most_of(n, ranks(layout, own) > 1, ranks(layout, Group::expert_data) > 1);
}
Bytes gathered(const HeldSums& s, const Plan& plan, const Layout& layout) {
  if (layout.zero != Zero::weights) return {};
  const Travelling& w = s.weights;
  const auto of = [&](const auto& n) { return travelling(n, layout, Group::shard); };
  const Count layers = layout.reshard ? std::min(of(w.layers), mul(2, of(w.largest))) : of(w.layers);
  return bytes_of(training_weights(plan), add(of(w.outside), layers));
}

Bytes buckets(const HeldSums& s, const Plan& plan, const Layout& layout) {
  if (layout.zero < Zero::gradients) return {};
  const auto of = [&](const auto& n) { return travelling(n, layout, Group::data); };
  return Bytes(mul(plan.gradient_bytes, std::max(of(s.gradients.outside), of(s.gradients.largest))));
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
  for (std::size_t k = 0; k < kinds.size; ++k) rows.layers[k] += layers_in(kinds.kinds[k], chunk);
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

HeldSums held_sums(const Prices& p, const HeldRows& rows) {
  HeldSums s;
  const auto outside = [&](const LayerPrice& row) {
    hold(s, row, 1);
    s.weights.outside.add(all_of(row), 1);
    s.gradients.outside.add(trained_of(row), 1);
    s.largest_outside = std::max(s.largest_outside, row.weights);
  };
  if (rows.embedding) outside(p.embedding());
  for (std::size_t k = 0; k < p.kinds.size; ++k) {
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
  if (rows.head) outside(p.head());
  if (rows.head && !rows.embedding) {  // the last stage has a copy of the table
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

Bytes pass_workspace(const Prices& pass) {
  Bytes most;
  for (const LayerPrice& row : pass.rows) most = std::max(most, row.alive.forward);
  return most;
}

Bytes weights_bytes(const Prices& prices, const WeightFormats& stored_in) {
  Bytes all;
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto c = static_cast<Component>(i);
    all += stored_in.held(c, prices.weights[c]);
  }
  return all;
}

Bytes kept_bytes(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  return ChunkTensors(prices, plan, chunk).kept();
}

Bytes kept_for_weights(const Prices& prices, const ModelChunk& chunk) {
  Bytes all;
  for_each_row(prices, chunk, [&](const LayerPrice& row, Count n) { all += n * row.for_weights; });
  return all;
}

ChunkAlive chunk_alive(const Prices& prices, const Plan& plan, const ModelChunk& chunk) {
  const ChunkTensors tensors(prices, plan, chunk);
  ChunkAlive a{.kept = tensors.kept(), .for_weights = kept_for_weights(prices, chunk)};
  a.rest = tensors.peak() - a.kept;
  if (plan.offload.activations.numerator > 0) {
    a.host = tensors.on_host();
    a.transit = tensors.in_transit();
  }
  if (chunk.head) a.logits = prices.head().logits;
  return a;
}

void add(StageAlive& alive, const ChunkAlive& chunk, Count micro_batches, Count for_weights) {
  alive.kept += micro_batches * chunk.kept + for_weights * chunk.for_weights;
  alive.logits += chunk.logits;
  alive.host += micro_batches * chunk.host;
  if (micro_batches == 0) return;
  alive.rest = std::max(alive.rest, chunk.rest);
  alive.transit = std::max(alive.transit, chunk.transit);
}

Memory stage_memory(const Prices& prices, const HeldSums& sums, const StageAlive& alive, const Plan& plan,
                    const Layout& layout, Bytes process) {
  const States s = training_states(sums, plan, layout);
  Memory m{.weights = s.weights + s.frozen,
           .gradients = s.gradients,
           .optimizer = s.optimizer,
           .parameters = s.parameters,
           .trained = s.trained};
  m.activations = alive.kept;
  m.logits = alive.logits;
  const Bytes live = alive.kept + alive.rest;
  m.process = process;
  m.gathered = gathered(sums, plan, layout);
  m.buckets = buckets(sums, plan, layout);
  if (ranks(layout, Group::pipeline) > 1) m.exchange = 2 * prices.layer(0).alive.input;
  if (plan.offload.any()) move_to_host(m, sums, alive, plan, layout);
  m.workspace = std::max(Bytes(), live - std::min(live, m.activations + m.logits));
  const Bytes besides =
      m.weights + m.gradients + m.optimizer + m.gathered + m.buckets + m.exchange + m.transit + m.process;
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
    add(alive, chunk_alive(prices, plan, h.chunk), h.micro_batches, h.for_weights);
  }
  return stage_memory(prices, held_sums(prices, rows), alive, plan, layout, process);
}

Memory training_memory(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process) {
  const ChunkInFlight all{whole_model(prices.kinds)};
  return stage_memory(prices, plan, layout, {&all, 1}, process);
}

Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, Bytes process) {
  Memory m{.weights = weights_bytes(prefill, plan.weight_precision), .process = process};
  m.parameters = sum_of(prefill, [](const LayerPrice& row) { return row.learned; }).total;
  if (plan.kv_cache) m.kv_cache = plan.batch * cache_bytes(prefill, add(plan.prompt, plan.generate));
  m.workspace = std::max(pass_workspace(prefill), workspace_of_last);
  m.total = m.peak = m.weights + m.kv_cache + m.workspace + m.process;
  return m;
}

Bytes cache_bytes(const Prices& prices, Count context) {
  return sum_of(prices, [&](const LayerPrice& row) { return row.cache.of(context); });
}

Bytes cache_bytes_per_token(const Prices& prices) {
  return sum_of(prices, [](const LayerPrice& row) { return row.cache.each(); });
}

Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout) {
  return price_pass(arch, plan, layout, {}, prefill_step(plan, 1), Phase::prefill);
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
  const Prices last = price_decode(arch, plan, layout, {}, add(plan.prompt, plan.generate));
  const Prices prompt = price_prefill(arch, plan, layout, {}, plan.prompt);
  return inference_memory(prompt, pass_workspace(last), plan, process);
}
Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context, const Layout& layout) {
  return cache_bytes(price_holdings(arch, plan, layout), context);
}
Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan, const Layout& layout) {
  return cache_bytes_per_token(price_holdings(arch, plan, layout));
}

}  // namespace llmcalc
