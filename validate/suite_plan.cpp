// Builds the plan of a choice.

#include <array>

#include "validate/suite_factors.hpp"

namespace llmcalc::validate {
namespace {

/// Cache formats by level. Level 0 keeps the plan's format.
const std::array cache_formats{CacheFormats(), CacheFormats(dtypes::fp8), CacheFormats(*dtype("int8"), *dtype("q4_0")),
                               CacheFormats(*dtype("q8_0"))};

/// A different format for each component, as in GGUF mixes: K-quants and the non-uniform formats iq4_xs and iq4_nl.
WeightFormats k_blocks() {
  WeightFormats w = *dtype("q4_k");
  w[Component::embedding] = *dtype("q6_k");
  w[Component::lm_head] = *dtype("q5_k");
  w[Component::mlp] = *dtype("q3_k");
  w[Component::experts] = *dtype("q2_k");
  w[Component::shared_experts] = *dtype("iq4_xs");
  w[Component::router] = *dtype("iq4_nl");
  return w;
}

/// Documents packed into a sequence of 7 tokens.
Documents packed() {
  Documents all;
  all.push({.count = 2, .length = 2});
  all.push({.count = 1, .length = 3});
  return all;
}

LoraTargets some_matrices() {
  LoraTargets some = LoraTarget::q;
  some.add(LoraTarget::v);
  some.add(LoraTarget::down);
  return some;
}

/// Sets frozen parts, or adapters of rank 3.
void set_trained(Plan& p, const LevelChoice& c) {
  const auto freeze = [&p](std::initializer_list<FreezePart> parts) {
    for (const FreezePart part : parts) p.frozen.parts.add(part);
  };
  if (c[trained] == 1) freeze({FreezePart::embedding, FreezePart::norm});
  if (c[trained] == 2) freeze({FreezePart::attention, FreezePart::router});
  if (c[trained] == 3) freeze({FreezePart::mlp, FreezePart::experts, FreezePart::head});
  if (c[trained] == 4) p.frozen = {.parts = FreezePart::embedding, .layers = LayerSet::all(2)};
  if (c[trained] < 5) return;
  p.lora_rank = 3;
  if (c[trained] == 6) p.lora_targets = some_matrices();
  p.base_precision = c[trained] == 5 ? p.precision : *dtype(c[trained] == 6 ? "nf4-dq" : "int8");
}

}  // namespace

Plan make_plan(const LevelChoice& c) {
  Plan p;
  p.seq = 7;
  p.micro_batch = p.global_batch = 2;
  if (c[documents] == 1) p.documents = packed();
  p.batch = 2;
  p.prompt = 5;
  p.generate = is_encoder(c) ? 0 : 4;
  p.kv_precision = p.precision = std::array{dtypes::fp32, dtypes::bf16, dtypes::fp16}[c[precision]];
  p.weight_precision = p.precision;
  if (c[weight_format] == 6)
    p.weight_precision = k_blocks();
  else if (c[weight_format] > 0)
    p.weight_precision = *dtype(factors()[weight_format].levels[c[weight_format]]);
  if (c[cache_format] > 0) p.kv_precision = cache_formats[c[cache_format]];
  set_trained(p, c);
  p.state_precision = std::array{dtypes::fp32, dtypes::bf16, dtypes::fp16}[c[states]];
  p.attention = c[core] == 0 ? AttentionImpl::flash : AttentionImpl::naive;
  p.softmax_store = c[softmax_store] == 0 ? SoftmaxStore::minimal : SoftmaxStore::seed;
  p.glu_store = static_cast<GluStore>(c[glu_store]);
  p.norm_stats = c[statistics] == 0;
  p.dropout = c[dropout] == 1;
  p.recompute = static_cast<Recompute>(std::min<std::size_t>(c[recompute], 2));
  if (c[recompute] == 3) p.recompute_method = RecomputeMethod::block;
  if (c[recompute] == 4) p.recompute_layers = 2;
  p.optimizer = optimizers[c[optimizer]].optimizer;
  p.mla = static_cast<Mla>(c[mla]);
  p.kv_cache = c[cache] == 0;
  p.logits = {.format = c[logits] == 1 ? LogitFormat::compute : LogitFormat::fp32, .chunks = c[logits] < 2 ? 1 : 3};
  p.gradient_bytes = c[gradients] == 0 ? 4 : 2;
  p.mtp = static_cast<Count>(c[further]);
  return p;
}

}  // namespace llmcalc::validate
