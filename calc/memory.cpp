#include "calc/memory.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Bytes kept by all layers below layer `first`, `full` recomputation keeping only their inputs.
Bytes kept_below(const Prices& p, Count first, bool full) {
  Bytes kept = p.embedding().alive.kept;
  for (std::size_t k = 0; k < p.kinds.size; ++k) {
    const Liveness& l = p.layer(k).alive;
    kept += p.kinds.kinds[k].layers.below(first) * (full ? l.input : l.kept);
  }
  return kept;
}

/// Peak of what is alive besides the states. Kept bytes only grow, so each kind's worst moment is in its last layer.
/// The peak is never in the embedding (a layer's final residual add holds as much) nor in the head's forward pass (its
/// backward pass holds the same tensors plus a gradient).
Bytes step_peak(const Prices& p, bool full, Bytes kept) {
  Bytes live = kept + p.head().alive.backward;
  for (std::size_t k = 0; k < p.kinds.size; ++k) {
    const Liveness& l = p.layer(k).alive;
    const Bytes worst = full ? std::max(l.forward + l.output, l.backward) : std::max(l.forward, l.backward);
    live = std::max(live, kept_below(p, p.kinds.kinds[k].last, full) + worst);
  }
  return live;
}

template <typename Part>
auto sum_of(const Prices& p, const Part& part) {
  auto sum = part(p.embedding());
  for (const LayerPrice& row : p.rows)
    if (&row != &p.embedding()) sum += row.layers * part(row);
  return sum;
}

}  // namespace

bool keeps_master(const Plan& plan) { return plan.master && training_weights(plan).format().element_bits < 32; }

Bytes optimizer_bytes(const Plan& plan, Count n, Count factored) {
  const Bytes master = keeps_master(plan) ? Bytes(mul(4, n)) : Bytes();
  switch (plan.optimizer) {
    case Optimizer::sgd:
      return master;
    case Optimizer::momentum:
    case Optimizer::lion:
      return master + bytes_of(plan.state_precision, n);
    case Optimizer::adam:
      return master + bytes_of(plan.state_precision, mul(2, n));
    case Optimizer::adam8bit:
      return master + Bytes(add(mul(2, n), mul(8, ceil_div(n, 256))));
    case Optimizer::adafactor:
      return master + Bytes(mul(4, factored));
  }
  return master;
}

States training_states(const Prices& prices, const Plan& plan) {
  const Learned all = sum_of(prices, [](const LayerPrice& row) { return row.learned; });
  return {.weights = weights_bytes(prices),
          .gradients = Bytes(mul(plan.gradient_bytes, all.total)),
          .optimizer = optimizer_bytes(plan, all.total, all.factored),
          .parameters = all.total};
}

Bytes pass_workspace(const Prices& pass) {
  Bytes most;
  for (const LayerPrice& row : pass.rows) most = std::max(most, row.alive.forward);
  return most;
}

Bytes weights_bytes(const Prices& prices) {
  return sum_of(prices, [](const LayerPrice& row) { return row.weights; });
}

Memory training_memory(const Prices& prices, const Plan& plan, Bytes process) {
  const States s = training_states(prices, plan);
  Memory m{.weights = s.weights,
           .gradients = s.gradients,
           .optimizer = s.optimizer,
           .process = process,
           .parameters = s.parameters};
  const bool full = plan.recompute == Recompute::full;
  const Bytes kept = kept_below(prices, max_layers, full), live = step_peak(prices, full, kept);
  m.logits = prices.head().logits;
  m.activations = kept + prices.head().alive.kept;
  m.workspace = std::max(Bytes(), live - std::min(live, m.activations + m.logits));
  m.total = m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.workspace + m.process;
  m.peak = m.weights + m.gradients + m.optimizer + live + m.process;
  return m;
}

Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, Bytes process) {
  Memory m{.weights = weights_bytes(prefill), .process = process};
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
  return sum_of(prices, [](const LayerPrice& row) { return row.cache.per_token; });
}

Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout) {
  return price_pass(arch, plan, layout, {}, prefill_step(plan, 1), Phase::prefill);
}

States training_states(const Arch& arch, const Plan& plan, const Layout& layout) {
  return training_states(price_pass(arch, plan, layout, {}, prefill_step(plan, 1), Phase::training), plan);
}
Bytes weights_bytes(const Arch& arch, const Plan& plan, const Layout& layout) {
  return weights_bytes(price_holdings(arch, plan, layout));
}
Memory training_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes process) {
  return training_memory(price(arch, plan, layout, {}), plan, process);
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

Bytes optimizer_traffic(const States& s, const Plan& plan) {
  const Bytes weights_read = keeps_master(plan) ? Bytes() : s.weights;
  return 2 * s.optimizer + s.gradients + s.weights + weights_read;
}

}  // namespace llmcalc
