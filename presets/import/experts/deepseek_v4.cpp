#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Compression ratio of each layer from compress_ratios. Additional entries at the end belong to MTP modules.
std::optional<std::vector<Count>> listed_ratios(const Config& c, const Arch& a) {
  if (!c.has("compress_ratios")) return std::nullopt;
  std::vector<Count> all = counts_per_layer(c, a, "compress_ratios", true);
  for (const Count ratio : all)
    if (ratio != 0 && ratio != 4 && ratio != 128)
      c.refuse(fmt::format("\"compress_ratios\": expected 0, 4 or 128, got {}", ratio));
  return all;
}

/// Throws InputError unless compress_rates states 4 and 128 for the two kinds of compressed layers.
void require_rates(const Config& c) {
  if (!c.has("compress_rates")) return;
  const Config rates = c.object("compress_rates");
  if (rates.size("compressed_sparse_attention", 4) != 4 || rates.size("heavily_compressed_attention", 128) != 128)
    rates.refuse("expected 4 for \"compressed_sparse_attention\" and 128 for \"heavily_compressed_attention\"");
}

/// Compression ratio of each layer from layer_types (hf).
std::optional<std::vector<Count>> typed_ratios(const Config& c, const Arch& a) {
  require_rates(c);
  const auto words = layer_words(
      c, a, "layer_types", {"sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"}, true);
  if (!words) return std::nullopt;
  std::vector<Count> all;
  for (const std::string& word : *words)
    all.push_back(word == "sliding_attention" ? 0 : word == "compressed_sparse_attention" ? 4 : 128);
  return all;
}

/// Number of tokens per pooled key in each layer. By default, 128 in the first two layers, then alternately 128 and
/// 4.
std::vector<Count> ratios(const Config& c, const Arch& a) {
  const auto listed = listed_ratios(c, a), typed = typed_ratios(c, a);
  if (listed && typed && *listed != *typed)
    c.refuse("\"compress_ratios\" and \"layer_types\" specify different layers; make them agree");
  if (listed) return *listed;
  if (typed) return *typed;
  std::vector<Count> all;
  for (Count i = 0; i < a.layers; ++i) all.push_back(i >= 2 && i % 2 == 1 ? 4 : 128);
  return all;
}

/// Number of rotated elements per head: qk_rope_head_dim, or derived from partial_rotary_factor, which transformers
/// saves instead.
Count rotated(const Config& c, const Arch& a) {
  if (c.has("qk_rope_head_dim") || !c.has("partial_rotary_factor")) return c.count("qk_rope_head_dim", 64);
  const double share = c.number("partial_rotary_factor", 0.125);
  if (!(share >= 0 && share <= 1)) c.refuse("\"partial_rotary_factor\": expected a number from 0 to 1");
  return static_cast<Count>(static_cast<double>(a.head_dim) * share);
}

/// Mixer of layers that pool `ratio` tokens. With ratio 4, pools overlap and an indexer selects among them.
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
  base.latent = {.q_rank = c.size("q_lora_rank", 1024), .rope_dim = rotated(c, a)};
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
  set_reach(a, reach, own);
}

/// Whether compress_ratios ends with a 0 after the layers' entries, as it does if there are MTP modules.
bool ends_in_window(const Config& c, const Arch& a) {
  if (!c.has("compress_ratios")) return true;  // transformers saves no entries for MTP modules
  const std::vector<Count> all = c.counts("compress_ratios");
  return std::ssize(all) > a.layers && all.back() == 0;
}

/// Sets MTP modules (hub deepseek-ai/DeepSeek-V4-Flash, inference/model.py, MTPBlock). Each has a layer without
/// pooling, projections of the token embedding and of every residual stream, and a separate norm and stream weights
/// before the head. Modules share the model's table and head.
void set_modules(const Config& c, Arch& a) {
  const std::vector<Count> all = ratios(c, a);
  const auto first = std::find(all.begin(), all.end(), 0);
  if (first == all.end() || !ends_in_window(c, a)) return;
  a.mtp = modules_like_last(c, a);
  if (a.mtp.modules > 0) a.mtp.mixer_of = first - all.begin();
}

/// hf deepseek_v4/modeling_deepseek_v4.py: compressed attention, residual streams (hc_mult), experts in every layer
/// with one shared expert. The first num_hash_layers layers choose experts by a table of token ids, but still have a
/// router matrix. This table is a buffer, as is the load-balancing bias of the other layers.
Arch deepseek_v4(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_bias", "hc_eps", "hc_sinkhorn_iters", "num_hash_layers", "swiglu_limit", "compress_rope_theta",
            "expert_dtype", "mlp_bias"});
  require_words(c, "mlp_layer_types", {"hash_moe", "moe"});
  compressed_attention(c, a);
  a.streams = c.size("hc_mult", 4);
  const Count width = c.size("moe_intermediate_size", 2048), shared = c.count("n_shared_experts", 1);
  set_experts(a, {.experts = c.size({"n_routed_experts", "num_local_experts"}, 256),
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
