// inclusionAI's Ling, Ring and LLaDA 2, and Sarvam, which has Ling's layers.

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// A family's defaults for absent keys.
struct BailingDefaults {
  Count experts, top_k, width;
  bool qk_norm;
};

/// hub inclusionAI/Ling-mini-2.0, modeling_bailing_moe_v2.py: `use_qkv_bias` on q, k, v, `use_bias` on o, RMSNorms of
/// the head width on q and k (`use_qk_norm`); the first layers are dense; all others have experts, with the shared
/// experts fused into one MLP. The load-balancing bias is a buffer. MTP modules as in DeepSeek-V3
/// (BailingMoeV2MTPLayer).
Arch bailing_layers(const Config& c, const Defaults& d, const BailingDefaults& usual) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("use_qkv_bias", false);
  a.attention_out_bias = c.flag("use_bias", false);
  c.ignore({"use_rmsnorm", "moe_layer_freq"});
  if (c.flag("use_qk_norm", usual.qk_norm)) a.qk_norm = QkNorm::per_head;
  const Count width = c.size("moe_intermediate_size", usual.width), shared = c.count("num_shared_experts", 1);
  if (shared == 0) c.ignore({"moe_shared_expert_intermediate_size"});
  set_experts(a, {.experts = c.size("num_experts", usual.experts),
                  .top_k = c.size("num_experts_per_tok", usual.top_k),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? c.size("moe_shared_expert_intermediate_size", width) : 0,
                  .router_correction = c.flag("moe_router_enable_expert_bias", true),
                  .layers = sparse_or(c, a, LayerSet::every(c.count("first_k_dense_replace", 1), 1, a.layers),
                                      {"first_k_dense_replace"})});
  a.mtp = modules_like_last(c, a);
  return a;
}

Arch bailing_moe(const Config& c, const Defaults& d) { return bailing_layers(c, d, {256, 8, 512, false}); }

/// hub sarvamai/sarvam-30b, modeling_sarvam_moe.py: Ling 2.0 with query and key norms.
Arch sarvam_moe(const Config& c, const Defaults& d) {
  if (c.flag("attention_bias", false))
    c.refuse("\"attention_bias\" is true; Sarvam is supported only without attention biases");
  c.ignore({"max_window_layers"});
  return bailing_layers(c, d, {128, 6, 1024, true});
}

/// hub inclusionAI/LLaDA2.0-mini, modeling_llada2_moe.py: Ling 2.0, but generates tokens in blocks.
Arch llada2_moe(const Config& c, const Defaults& d) { return bailing_layers(c, d, {256, 8, 512, true}); }

/// Layers with softmax attention: the last layer of each group of layer_group_size layers, and all layers after the
/// last complete group.
LayerSet last_of_groups(const Config& c, const Arch& a) {
  const Count group = c.size("layer_group_size", 1), whole = a.layers / group * group;
  LayerSet set = LayerSet::every(group - 1, group, a.layers);
  for (Count i = whole; i < a.layers; ++i) set.insert(i);
  return set;
}

/// Sets lightning attention, with keys and values for every head, in all layers without softmax attention.
void lightning_layers(const Config& c, Arch& a) {
  if (c.flag("use_qkv_bias", false) || c.flag("use_bias", false))
    c.refuse("\"use_qkv_bias\" or \"use_bias\" is true; linear attention with biases is not supported");
  if (c.has("num_kv_heads_for_linear_attn") && c.count("num_kv_heads_for_linear_attn", 0) != a.heads)
    c.refuse("\"num_kv_heads_for_linear_attn\" must equal \"num_attention_heads\"; other values are not supported");
  c.ignore({"group_norm_size", "linear_backend", "linear_mode", "linear_rope", "linear_scale", "linear_silu",
            "use_linear_silu", "use_linear_gqa"});
  a.linear_layers = others(last_of_groups(c, a), a.layers);
}

/// hub inclusionAI/Ring-mini-linear-2.0, modeling_bailing_moe_linear_v2.py: Ling 2.0 with lightning attention in
/// every layer of a group except the last. Lightning attention has the same norms on queries and keys as softmax
/// attention, and a norm over groups of heads and a gate on its output.
Arch bailing_linear(const Config& c, const Defaults& d) {
  Arch a = bailing_moe(c, d);
  lightning_layers(c, a);
  return a;
}

/// hub inclusionAI/Ling-2.5-1T, modeling_bailing_moe_v2_5.py: as bailing_linear(), with DeepSeek-V3's latent
/// attention instead of softmax attention. MTP modules have latent attention.
Arch bailing_hybrid(const Config& c, const Defaults& d) {
  if (c.has("kda_lower_bound") || c.has("short_conv_kernel_size"))
    c.refuse("\"kda_lower_bound\" and \"short_conv_kernel_size\" are keys of Ling 3, whose layers are not supported");
  Arch a = bailing_linear(c, d);
  a.kv_heads = a.heads;
  Arch latent = a;
  latent_attention(c, latent, {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128});
  LayerMixer full;
  static_cast<Mixer&>(full) = latent;
  full.qk_norm = QkNorm::none;
  full.layers = others(a.linear_layers, a.layers);
  set_mixer(a, full);
  if (a.mtp.modules > 0) a.mtp.mixer_of = full.layers.last();
  c.ignore({"rope_interleave"});
  return a;
}

}  // namespace

std::vector<Family> bailing_families() {
  return {
      {"bailing_moe bailing_moe_v2", bailing_moe, {20, 2048, 16, 4, 128, 5120, 157184, 32768}},
      {"llada2_moe", llada2_moe, {20, 2048, 16, 4, 128, 5120, 157184, 32768}},
      {"sarvam_moe", sarvam_moe, {19, 4096, 64, 4, 0, 8192, 262144, 131072}},
      {"bailing_moe_linear", bailing_linear, {20, 2048, 16, 4, 128, 5120, 157184, 32768}},
      {"bailing_hybrid bailing_moe_v2_5", bailing_hybrid, {80, 8192, 64, 64, 128, 18432, 157184, 131072}},
  };
}

}  // namespace llmcalc::import
