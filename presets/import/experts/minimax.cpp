#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Layers with lightning attention: those marked "linear_attention" in layer_types or 0 in attn_type_list; by
/// default, every second layer.
LayerSet lightning_layers_by_type(const Config& c, const Arch& a) {
  const auto softmax = marked_layers(c, a, "attn_type_list");
  const auto marked = softmax ? std::optional(others(*softmax, a.layers)) : std::nullopt;
  return said_layers(c, {{"layer_types", layers_of_type(c, a, "linear_attention")}, {"attn_type_list", marked}})
      .value_or(LayerSet::every(1, 2, a.layers));
}

/// Experts in every layer. `experts`, `top_k`: defaults for absent keys.
Moe minimax_experts(const Config& c, const Arch& a, Count experts = 8, Count top_k = 2) {
  return {.experts = c.size({"num_local_experts", "num_experts"}, experts),
          .top_k = c.size("num_experts_per_tok", top_k),
          .width = a.mlp_width,
          .layers = LayerSet::all(a.layers)};
}

/// hf minimax/modeling_minimax.py; hub MiniMaxAI/MiniMax-Text-01, modeling_minimax_text_01.py. No biases; experts in
/// every layer; lightning layers have q, k and v for all heads, an output gate and a norm over the attention width.
/// shared_intermediate_size > 0 (hub) adds one shared expert with a gate.
Arch minimax(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.linear_layers = lightning_layers_by_type(c, a);
  set_reach(a, {c.count("sliding_window", 0)}, others(a.linear_layers, a.layers));
  Moe m = minimax_experts(c, a);
  m.shared_width = c.count("shared_intermediate_size", 0);
  m.shared_experts = m.shared_width > 0 ? 1 : 0;
  m.shared_gate = m.shared_width > 0;
  set_experts(a, m);
  c.ignore({"postnorm", "shared_moe_mode", "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
            "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha",
            "layernorm_mlp_beta"});
  return a;
}

/// hub MiniMaxAI/MiniMax-M2, modeling_minimax_m2.py: softmax attention in all layers, RMSNorms on q and k over their
/// whole width (use_qk_norm), a load-balancing bias that is a buffer (use_routing_bias).
Arch minimax_m2(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attn_type_list", "qk_norm_type", "shared_intermediate_size", "mtp_transformer_layers", "num_mtp_modules",
            "use_mtp"});  // files contain no MTP modules
  if (c.flag("use_qk_norm", true)) a.qk_norm = QkNorm::full;
  Moe m = minimax_experts(c, a, 256, 8);
  m.router_correction = c.flag("use_routing_bias", true);
  set_experts(a, m);
  return a;
}

/// Names of the keys for an indexer's sizes, in sparse_attention_config (hub) or at the config's top level (hf).
struct BlockIndexer {
  std::string_view heads, width, top_k, block, local;
};
constexpr BlockIndexer hub_indexer{"sparse_num_index_heads", "sparse_index_dim", "sparse_topk_blocks",
                                   "sparse_block_size", "sparse_local_block"};
constexpr BlockIndexer hf_indexer{"index_n_heads", "index_head_dim", "index_topk_blocks", "index_block_size",
                                  "index_local_blocks"};

Indexer block_indexer(const Config& c, const BlockIndexer& keys) {
  if (c.count(keys.local, 1) != 1 || c.count("sparse_init_block", 0) != 0)
    c.refuse(
        fmt::format("\"{}\" must be 1 and \"sparse_init_block\" 0; other fixed blocks are not supported", keys.local));
  return {.kind = IndexerKind::blocks,
          .heads = c.size(keys.heads, 4),
          .width = c.size(keys.width, 128),
          .top_k = c.size(keys.top_k, 16),
          .block = c.size(keys.block, 128)};
}

/// Layers with an indexer, according to sparse_attention_config. Throws InputError if an indexer has values.
LayerSet sparse_blocks(const Config& s, const Arch& a) {
  s.ignore({"sparse_score_type"});
  const LayerSet sparse = marked_layers(s, a, "sparse_attention_freq").value_or(LayerSet::all(a.layers));
  const LayerSet keys_alone = marked_layers(s, a, "sparse_disable_index_value").value_or(sparse);
  if (!sparse.filtered(keys_alone, false).empty())
    s.refuse("\"sparse_disable_index_value\" is 0 in a sparse layer; an indexer with values is not supported");
  return sparse;
}

/// Sets attention to the blocks that an indexer selects, in layers marked in `sparse_attention_freq` or as
/// minimax_m3_sparse in layer_types. All other layers attend to all tokens.
void block_sparse_attention(const Config& c, Arch& a) {
  const auto typed = layers_of_type(c, a, "minimax_m3_sparse");
  LayerMixer sparse;
  static_cast<Mixer&>(sparse) = a;
  if (c.has("sparse_attention_config")) {
    const Config s = c.object("sparse_attention_config");
    if (!s.flag("use_sparse_attention", true)) return;
    sparse.indexer = block_indexer(s, hub_indexer);
    sparse.layers = *said_layers(c, {{"sparse_attention_config", sparse_blocks(s, a)}, {"layer_types", typed}});
  } else if (typed) {
    sparse.indexer = block_indexer(c, hf_indexer);
    sparse.layers = *typed;
  }
  set_mixer(a, sparse);
}

/// github.com/ml-explore/mlx-lm, minimax_m3; hf minimax_m3_vl/: grouped attention with RMSNorms of the head width on q
/// and k, limited to the blocks that an indexer selects in some layers. Layers marked in moe_layer_freq, or sparse in
/// mlp_layer_types, have experts of width intermediate_size, one shared expert, and a load-balancing bias that is a
/// buffer.
Arch minimax_m3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"use_gemma_norm", "qk_norm_type", "num_mtp_modules"});
  if (c.flag("attention_output_gate", false))
    c.refuse("\"attention_output_gate\" is true; the gate's shape is unknown in this family");
  if (c.flag("use_qk_norm", true)) a.qk_norm = QkNorm::per_head;
  block_sparse_attention(c, a);
  Moe m = minimax_experts(c, a, 128, 4);
  if (c.has("moe_intermediate_size")) m.width = c.size({"intermediate_size", "moe_intermediate_size"}, m.width);
  m.layers = said_layers(c, {{"moe_layer_freq", marked_layers(c, a, "moe_layer_freq")},
                             {"mlp_layer_types", sparse_typed(c, a)}})
                 .value_or(LayerSet::all(a.layers));
  m.shared_experts = c.count("n_shared_experts", 1);
  m.shared_width = m.shared_experts > 0 ? c.size("shared_intermediate_size", m.width) : 0;
  m.router_correction = c.flag("use_routing_bias", true);
  a.mlp_width = c.size("dense_intermediate_size", 12288);
  set_experts(a, m);
  return a;
}

/// Layers of MiniCPM-SALA with softmax attention: "minicpm4" in mixer_types.
LayerSet softmax_layers_by_type(const Config& c, const Arch& a) {
  require_words(c, "mixer_types", {"minicpm4", "lightning", "lightning-attn", "lightning_attn"});
  const std::vector<std::string> types = c.has("mixer_types") ? c.texts("mixer_types") : std::vector<std::string>{};
  if (static_cast<Count>(types.size()) != a.layers) c.refuse("\"mixer_types\" must have one entry per layer");
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if (types[static_cast<std::size_t>(i)] == "minicpm4") set.insert(i);
  return set;
}

/// Throws InputError unless lightning attention has a gate, an output norm and no biases.
void refuse_other_lightning(const Config& c) {
  for (const char* key : {"use_output_gate", "use_output_norm"})
    if (!c.flag(key, false)) c.refuse("\"" + std::string(key) + "\" is not true; lightning attention requires it here");
  if (c.flag("attention_bias", false))
    c.refuse("\"attention_bias\" is true; lightning attention with biases is not supported here");
}

/// hub openbmb/MiniCPM-SALA, modeling_minicpm_sala.py: lightning attention with RMSNorms of the head width on q and
/// k, and softmax attention with fewer KV heads and without RoPE; both have an output gate per element. sparse_config
/// is not supported. Instead, softmax attention counts as attention to all tokens, which is exact up to dense_len
/// tokens.
Arch minicpm_sala(const Config& c, const Defaults& d) {
  refuse_other_lightning(c);
  Arch a = base_arch(c, d);
  LayerMixer softmax;
  static_cast<Mixer&>(softmax) = a;
  if (c.flag("attn_use_output_gate", false)) softmax.attention_gate = AttentionGate::per_channel;
  softmax.layers = softmax_layers_by_type(c, a);
  if (c.flag("qk_norm", false)) a.qk_norm = QkNorm::per_head;
  a.heads = a.kv_heads = c.size("lightning_nh", a.heads);
  a.head_dim = c.size("lightning_head_dim", a.head_dim);
  if (c.size("lightning_nkv", a.heads) != a.heads)
    c.refuse("\"lightning_nkv\" must equal \"lightning_nh\"; other values are not supported");
  if (!c.flag("attn_use_rope", true) && !c.flag("lightning_use_rope", true)) a.position = Position::none;
  a.linear_layers = others(softmax.layers, a.layers);
  set_mixer(a, softmax);
  return a;
}

}  // namespace

std::vector<Family> minimax_families() {
  return {
      {"minimax minimax_text_01 minimax_m1", minimax, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
      {"minicpm_sala", minicpm_sala, {32, 4096, 32, 2, 128, 16384, 73448, 524288}},
      {"minimax_m2", minimax_m2, {62, 3072, 48, 8, 128, 1536, 200064, 196608}},
      {"minimax_m3 minimax_m3_vl_text", minimax_m3, {60, 6144, 64, 4, 128, 3072, 200064, 1048576}},
  };
}

}  // namespace llmcalc::import
