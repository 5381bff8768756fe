#include <fmt/format.h>

#include <algorithm>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Tokens of a pooled key in every layer: compress_ratios, whose further entries are those of multi-token prediction;
/// else 128 in the first two layers, and then 128 and 4 in turn.
std::vector<Count> ratios(const Config& c, const Arch& a) {
  std::vector<Count> all;
  if (c.has("compress_ratios")) {
    all = c.counts("compress_ratios");
    if (static_cast<Count>(all.size()) < a.layers)
      c.refuse(fmt::format("\"compress_ratios\": expected one entry per layer ({}), got {}", a.layers, all.size()));
  }
  for (Count i = static_cast<Count>(all.size()); i < a.layers; ++i) all.push_back(i >= 2 && i % 2 == 1 ? 4 : 128);
  all.resize(static_cast<std::size_t>(a.layers));
  return all;
}

/// The mixer of the layers that pool `ratio` tokens: overlapping, and chosen by an indexer, where they are 4.
Mixer pooling(const Config& c, Mixer m, Count ratio) {
  m.compressed.ratio = ratio;
  m.compressed.overlap = ratio == 4;
  if (ratio == 4)
    m.indexer = {.kind = IndexerKind::lightning,
                 .heads = c.size("index_n_heads", 64),
                 .width = c.size("index_head_dim", 128),
                 .top_k = c.size("index_topk", 512)};
  return m;
}

void compressed_attention(const Config& c, Arch& a) {
  Mixer base = a;
  base.attention = AttentionKind::compressed;
  base.kv_heads = 1;
  base.attention_sinks = true;
  base.latent = {.q_rank = c.size("q_lora_rank", 1024), .rope_dim = c.count("qk_rope_head_dim", 64)};
  base.compressed = {.out_groups = c.size("o_groups", 8), .out_rank = c.size("o_lora_rank", 1024)};
  const std::vector<Count> all = ratios(c, a);
  const Count window = c.size("sliding_window", 128);
  const Reach reach{window < a.context ? window : 0};
  static_cast<Mixer&>(a) = pooling(c, base, all[0]);
  LayerSet own;
  for (const Count ratio : {Count{0}, Count{4}, Count{128}}) {
    LayerMixer m;
    static_cast<Mixer&>(m) = pooling(c, base, ratio);
    m.reach = reach;
    for (Count i = 0; i < a.layers; ++i)
      if (all[static_cast<std::size_t>(i)] == ratio) m.layers.insert(i);
    if (ratio == all[0])
      own = m.layers;
    else if (!m.layers.empty())
      a.mixers.push(m);
  }
  for (const Count ratio : all)
    if (ratio != 0 && ratio != 4 && ratio != 128)
      c.refuse(fmt::format("\"compress_ratios\": expected 0, 4 or 128, got {}", ratio));
  set_reach(a, reach, own);
}

/// hub deepseek-ai/DeepSeek-V4-Flash, inference/model.py, MTPBlock: a layer under the last ratio of compress_ratios, 0,
/// which is behind those of the layers; projections of the token's embedding and of every residual stream, a norm and
/// weights of the streams before the head of its own; table and head are the model's.
void set_modules(const Config& c, Arch& a) {
  const std::vector<Count> all = c.has("compress_ratios") ? c.counts("compress_ratios") : std::vector<Count>();
  const auto first = std::find(all.begin(), all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), a.layers), 0);
  if (std::ssize(all) <= a.layers || all.back() != 0 || first - all.begin() >= a.layers) return;
  a.mtp = modules_like_last(c, a);
  if (a.mtp.modules > 0) a.mtp.mixer_of = first - all.begin();
}

/// hf deepseek_v4/modeling_deepseek_v4.py: compressed attention, residual streams (hc_mult), experts in every layer
/// with one shared expert. The first num_hash_layers layers choose experts by a table of token ids, a buffer like the
/// load-balancing bias of the others; they have a router's matrix all the same.
Arch deepseek_v4(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_bias", "hc_eps", "hc_sinkhorn_iters", "num_hash_layers", "swiglu_limit", "compress_rope_theta",
            "expert_dtype"});
  compressed_attention(c, a);
  a.streams = c.size("hc_mult", 4);
  const Count width = c.size("moe_intermediate_size", 2048), shared = c.count("n_shared_experts", 1);
  set_experts(a, {.experts = c.size("n_routed_experts", 256),
                  .top_k = c.size("num_experts_per_tok", 6),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = true,
                  .layers = LayerSet::all(a.layers)});
  set_modules(c, a);
  return a;
}

}  // namespace

std::vector<Family> deepseek_v4_families() {
  return {{"deepseek_v4 deepseek_ref", deepseek_v4, {43, 4096, 64, 1, 512, 0, 129280, 1048576}}};
}

}  // namespace llmcalc::import
