#include "serve/engine_memory.hpp"

#include <algorithm>
#include <cmath>

#include "calc/memory.hpp"
#include "serve/times/stages.hpp"

namespace llmcalc {

namespace {

/// The plan for passes that decode one token for each of `sequences` sequences.
Plan decoding(Plan plan, Count sequences) {
  plan.batch = sequences;
  return plan;
}

/// Number of logits in a pass: the whole vocabulary, for one sampled position per sequence.
Count logits_of(const Arch& arch, const Plan& plan, Count sequences) {
  Count n = 0;
  for_each_operator(arch, plan, {}, decode_step(decoding(plan, sequences), 2), [&](const OperatorRow& row) {
    if (row.op.name == "head.logits") n = out_elements(row.op.shape);
  });
  return n;
}

Bytes whole_bytes(double bytes) { return Bytes(static_cast<Count>(std::llround(bytes))); }

}  // namespace

Bytes slot_bytes(const EngineMemory& m) {
  if (m.window_share == 0) return m.token_cache;
  return m.token_cache - m.limited_token_cache +
         whole_bytes(m.window_share * static_cast<double>(m.limited_token_cache.value));
}

Bytes granted_memory(Bytes of_device, double utilization) {
  return whole_bytes(utilization * static_cast<double>(of_device.value));
}

ProfiledPass profiled_pass(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes) {
  const Prices pass =
      price_pass(arch, plan, layout, {}, prefill_step(decoding(plan, 1), limits.pass_tokens), Phase::prefill);
  return {.sampler = whole_bytes(logit_bytes * static_cast<double>(logits_of(arch, plan, limits.sequences))),
          .hidden = pass.layer(0).alive.input,
          .layer = pass_workspace(pass)};
}

Bytes profiled_activations(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes) {
  return profiled_pass(arch, plan, layout, limits, logit_bytes).peak();
}

namespace {

/// The chunk's share of `whole`, in proportion to its weights. The stage of a head that is tied to the token
/// embedding also holds the table.
Bytes stage_share(Bytes whole, const Prices& all, const ModelChunk& chunk, const Arch& arch) {
  Bytes part, sum;
  for_each_row(all, chunk, [&](const LayerPrice& row, Count n) { part += n * row.weights; });
  for (const LayerPrice& row : all.rows) sum += row.layers * row.weights;
  if (part == sum) return whole;
  if (chunk.head && arch.tied_head) part += all.embedding().weights;
  return whole_bytes(static_cast<double>(whole.value) * static_cast<double>(part.value) /
                     static_cast<double>(sum.value));
}

/// Sets the weights, and the cache bytes per token and per state. Excludes offloaded bytes.
void put_model(EngineMemory& m, const Arch& arch, const Plan& plan, const Prices& all, const ModelChunk& chunk) {
  m.host = stage_share(host_weights_bytes(all, plan), all, chunk, arch);
  m.weights = stage_share(weights_bytes(all, plan.weight_precision), all, chunk, arch) - m.host;
  for_each_row(all, chunk, [&](const LayerPrice& row, Count n) {
    m.token_cache += n * row.cache.per_token;
    if (row.cache.reach.limited()) m.limited_token_cache += n * row.cache.per_token;
    m.state += n * row.cache.state;
  });
  m.token_cache -= share_of(m.token_cache, plan.offload.cache);
  m.limited_token_cache -= share_of(m.limited_token_cache, plan.offload.cache);
  m.state -= share_of(m.state, plan.offload.cache);
}

/// Sets the KV cache to the memory that the engine grants it, and `granted` to the sum of all terms.
void put_cache(EngineMemory& m, const EngineLimits& limits, const EngineTerms& terms) {
  const Bytes other =
      m.weights + m.media_encoders + m.padding + m.draft + m.adapters + m.activations + m.libraries + m.graphs;
  if (terms.grant == CacheGrant::static_share) m.granted += m.activations + m.graphs;
  m.kv_cache = m.granted - other;
  if (terms.grant == CacheGrant::share_of_free && m.kv_cache > Bytes()) {
    m.kv_cache = whole_bytes(terms.share_of_free * static_cast<double>(m.kv_cache.value));
    m.granted = other + m.kv_cache;
  }
  const Bytes block = limits.block_tokens * slot_bytes(m);
  if (block > Bytes())
    m.blocks = std::max(Bytes(), m.kv_cache).value / block.value;
  else if (m.state > Bytes())
    m.states = std::max(Bytes(), m.kv_cache).value / m.state.value;
  m.kv_tokens = mul(m.blocks, limits.block_tokens);
}

/// Whether the cache of `a` has less space than the cache of `b`.
bool is_fuller(const EngineMemory& a, const EngineMemory& b) {
  return a.blocks != b.blocks ? a.blocks < b.blocks : a.kv_cache < b.kv_cache;
}

EngineMemory memory_of_stage(const Arch& arch, const Plan& plan, const Layout& layout, const Prices& holdings,
                             const ModelChunk& chunk, Bytes granted, const EngineLimits& limits,
                             const EngineTerms& terms) {
  const auto of_layers = [&](Bytes all) { return share_of(all, {chunk.layers(), arch.layers}); };
  const ProfiledPass pass = profiled_pass(arch, plan, layout, limits, chunk.head ? terms.logit_bytes : 0);
  EngineMemory m{.grant = terms.grant,
                 .granted = granted,
                 .media_encoders = chunk.embedding ? media_encoder_bytes(plan, layout) : Bytes(),
                 .padding = of_layers(terms.padding),
                 .draft = terms.draft,
                 .adapters = of_layers(terms.adapters),
                 .activations = pass.peak(),
                 .libraries = terms.libraries,
                 .graphs = terms.graphs,
                 .pass = pass,
                 .token_cache = terms.draft_token_cache};
  put_model(m, arch, plan, holdings, chunk);
  if (m.limited_token_cache > Bytes() && m.limited_token_cache < m.token_cache) m.window_share = terms.window_share;
  put_cache(m, limits, terms);
  return m;
}

}  // namespace

EngineMemory stage_engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, const ModelChunk& chunk,
                                 Bytes granted, const EngineLimits& limits, const EngineTerms& terms) {
  return memory_of_stage(arch, plan, layout, price_holdings(arch, plan, layout), chunk, granted, limits, terms);
}

EngineMemory engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes granted,
                           const EngineLimits& limits, const EngineTerms& terms) {
  const Prices holdings = price_holdings(arch, plan, layout);
  const Count stages = ranks(layout, Group::pipeline);
  EngineMemory fullest;
  for (Count i = 0; i < stages; ++i) {
    const ModelChunk chunk = served_stage(arch.layers, stages, i);
    const EngineMemory m = memory_of_stage(arch, plan, layout, holdings, chunk, granted, limits, terms);
    if (i == 0 || is_fuller(m, fullest)) fullest = m;
  }
  return fullest;
}

}  // namespace llmcalc
