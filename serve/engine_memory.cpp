#include "serve/engine_memory.hpp"

#include <algorithm>
#include <cmath>

#include "calc/memory.hpp"

namespace llmcalc {

namespace {

/// A plan whose passes decode one token of each of `sequences`.
Plan decoding(Plan plan, Count sequences) {
  plan.batch = sequences;
  return plan;
}

/// Logits of the whole vocabulary for the sampled position of every sequence.
Count logits_of(const Arch& arch, const Plan& plan, Count sequences) {
  Count n = 0;
  for_each_operator(arch, plan, {}, decode_step(decoding(plan, sequences), 2), [&](const OperatorRow& row) {
    if (row.op.name == "head.logits") n = out_elements(row.op.shape);
  });
  return n;
}

Bytes whole_bytes(double bytes) { return Bytes(static_cast<Count>(std::llround(bytes))); }

}  // namespace

Bytes granted_memory(Bytes of_device, double utilization) {
  return whole_bytes(utilization * static_cast<double>(of_device.value));
}

Bytes profiled_activations(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes) {
  const Prices pass =
      price_pass(arch, plan, layout, {}, prefill_step(decoding(plan, 1), limits.pass_tokens), Phase::prefill);
  const Bytes hidden = pass.layer(0).alive.input;
  const Bytes sampler = whole_bytes(logit_bytes * static_cast<double>(logits_of(arch, plan, limits.sequences)));
  return std::max(sampler + hidden, pass_workspace(pass) + 3 * hidden);
}

EngineMemory engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes granted,
                           const EngineLimits& limits, const EngineTerms& terms) {
  const Prices holdings = price_holdings(arch, plan, layout);
  EngineMemory m{.granted = granted,
                 .weights = weights_bytes(holdings, plan.weight_precision),
                 .draft = terms.draft,
                 .adapters = terms.adapters,
                 .activations = profiled_activations(arch, plan, layout, limits, terms.logit_bytes),
                 .libraries = terms.libraries,
                 .graphs = terms.graphs};
  m.kv_cache = granted - (m.weights + m.draft + m.adapters + m.activations + m.libraries + m.graphs);
  m.token_cache = cache_bytes_per_token(holdings) + terms.draft_token_cache;
  const Bytes block = limits.block_tokens * m.token_cache;
  if (block > Bytes()) m.blocks = std::max(Bytes(), m.kv_cache).value / block.value;
  m.kv_tokens = mul(m.blocks, limits.block_tokens);
  return m;
}

Bytes paged_cache(const Prices& prices, Count context, Count block_tokens) {
  Bytes all;
  for (const LayerPrice& row : prices.rows) {
    const Count reach = row.cache.reach.tokens;
    const bool slides = row.cache.reach.limited() && context > reach;
    const Count blocks = slides ? add(ceil_div(reach, block_tokens), 1) : ceil_div(context, block_tokens);
    all += row.layers * (std::min(blocks, ceil_div(context, block_tokens)) * (block_tokens * row.cache.per_token) +
                         ceil_div(context, row.cache.ratio) * row.cache.per_pool + row.cache.state);
  }
  return all;
}

Count most_sequences(const EngineMemory& memory, const Arch& arch, const Plan& plan, const Layout& layout,
                     Count context, const EngineLimits& limits) {
  const Count whole = mul(ceil_div(context, limits.block_tokens), limits.block_tokens);
  const Prices holdings = price_holdings(arch, plan, layout);
  const Bytes draft = whole * (memory.token_cache - cache_bytes_per_token(holdings));
  const Bytes one = paged_cache(holdings, context, limits.block_tokens) + draft;
  if (one <= Bytes()) return limits.sequences;
  return std::min(limits.sequences, std::max(Bytes(), memory.kv_cache).value / one.value);
}

}  // namespace llmcalc
