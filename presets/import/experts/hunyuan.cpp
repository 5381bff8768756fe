#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Checks that the head width in Hunyuan's key (attention_head_dim) equals that in hf's key (head_dim).
void check_head_width(const Config& c, const Arch& a) {
  c.require_repeated("attention_head_dim", "the head width (\"head_dim\")", a.head_dim);
}

/// hf hunyuan_v1_dense/modeling_hunyuan_v1_dense.py: RMSNorms of the head width on q and k, regardless of the config;
/// `attention_bias` on q, k, v and o; no biases in the MLP.
Arch hunyuan(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"use_qk_norm", "mlp_bias", "norm_type", "num_experts", "num_shared_expert", "moe_topk", "kv_lora_rank",
            "q_lora_rank", "qk_norm"});
  check_head_width(c, a);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  return a;
}

/// Number under `key`, which may also be a per-layer list whose entries are all equal.
Count same_in_all_layers(const Config& c, const Arch& a, std::string_view key, Count otherwise) {
  const json::Value* v = c.find(key);
  if (v == nullptr || !v->is_array()) return c.size(key, otherwise);
  const std::vector<Count> all = counts_per_layer(c, a, key, true);
  for (const Count n : all)
    if (n != all.front())
      c.refuse(
          fmt::format("\"{}\" is {} in one layer and {} in another; layers with different experts are not supported",
                      key, all.front(), n));
  return all.front();
}

/// Sets experts of width moe_intermediate_size (if absent: intermediate_size) in every layer, a router without bias,
/// and `shared_experts` MLPs of width intermediate_size, fused into one.
void set_hunyuan_experts(const Config& c, Arch& a, Count shared_experts) {
  if (c.count("moe_layer_num_skipped", 0) > 0)
    c.refuse("\"moe_layer_num_skipped\" is above 0; only models with experts in every layer are supported");
  c.ignore({"moe_drop_tokens", "moe_random_routing_dropped_token"});
  const Count width = a.mlp_width;
  const bool own = c.has("moe_intermediate_size");
  set_experts(a, {.experts = same_in_all_layers(c, a, "num_experts", 1),
                  .top_k = same_in_all_layers(c, a, "moe_topk", 1),
                  .width = own ? same_in_all_layers(c, a, "moe_intermediate_size", width) : width,
                  .shared_experts = shared_experts,
                  .shared_width = shared_experts > 0 ? width : 0,
                  .layers = LayerSet::all(a.layers)});
}

/// Sets cross-layer attention (arXiv:2405.12981): in every group of cla_share_factor layers, the first layer computes
/// keys and values, and the other layers read them. These layers normalize the keys with separate weights. The weights
/// count as query scales, which result in the same scores because the norms follow the rotation.
void share_between_layers(const Config& c, Arch& a) {
  c.ignore({"cla_share_factor"});
  if (!c.flag("use_cla", false)) return;
  LayerMixer sharing;
  static_cast<Mixer&>(sharing) = a;
  sharing.shared_kv = true;
  sharing.query_scale = a.qk_norm != QkNorm::none;
  sharing.layers = others(LayerSet::every(0, c.size("cla_share_factor", 1), a.layers), a.layers);
  set_mixer(a, sharing);
}

/// hf hunyuan_v1_moe/modeling_hunyuan_v1_moe.py, hub tencent/Hunyuan-A13B-Instruct, modeling_hunyuan.py: the dense
/// model with experts of width moe_intermediate_size (if absent: intermediate_size) in every layer, a router without
/// bias, and one shared MLP of width intermediate_size.
Arch hunyuan_moe(const Config& c, const Defaults& d) {
  Arch a = hunyuan(c, d);
  if (!c.flag("use_mixed_mlp_moe", true))
    c.refuse("\"use_mixed_mlp_moe\" is false; only experts with a shared MLP are supported");
  if (same_in_all_layers(c, a, "num_shared_expert", 1) != 1)
    c.refuse("\"num_shared_expert\": expected 1, the shared MLP with width \"intermediate_size\"");
  set_hunyuan_experts(c, a, 1);
  share_between_layers(c, a);
  return a;
}

/// hub tencent/Tencent-Hunyuan-Large, modeling_hunyuan.py (also in Hunyuan-7B's files): Llama with RMSNorms of the
/// head width on q and k if use_qk_norm is set, and `attention_bias` on q, k, v and o. If num_experts is above 1,
/// every layer has experts and, if use_mixed_mlp_moe is set, num_shared_expert MLPs fused into one.
Arch hunyuan_large(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.flag("mlp_bias", false)) c.refuse("\"mlp_bias\" is true; Hunyuan is supported only without MLP biases");
  if (c.flag("use_mla", false)) c.refuse("\"use_mla\" is true; latent attention is not supported here");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = c.flag("use_qk_norm", false) ? QkNorm::per_head : QkNorm::none;
  c.ignore({"norm_type", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"});
  check_head_width(c, a);
  const bool mixed = c.flag("use_mixed_mlp_moe", false);
  if (same_in_all_layers(c, a, "num_experts", 1) > 1)
    set_hunyuan_experts(c, a, mixed ? same_in_all_layers(c, a, "num_shared_expert", 1) : 0);
  c.ignore({"num_shared_expert", "moe_topk"});
  share_between_layers(c, a);
  return a;
}

/// hf hy_v3/modeling_hy_v3.py and hub tencent/Hy3: RMSNorms of the head width on q and k, regardless of the config;
/// `attention_bias` on q, k, v and o. Layers marked sparse in mlp_layer_types, or all layers from first_k_dense_replace
/// on, have experts, and num_shared_experts fused into one MLP. The load-balancing bias is a buffer. MTP modules as in
/// DeepSeek-V3.
Arch hy_v3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.flag("mlp_bias", false))
    c.refuse("\"mlp_bias\" is true; experts with biases are not supported with shared experts");
  c.ignore({"qk_norm", "route_norm", "moe_router_use_sigmoid", "enable_moe_fp32_combine"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  const Count shared = c.count("num_shared_experts", 1);
  const Count width = c.size({"moe_intermediate_size", "expert_hidden_dim"}, 1536);
  const Count first = c.count("first_k_dense_replace", 1);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 192),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = c.flag("moe_router_enable_expert_bias", true),
                  .layers = sparse_or(c, a, LayerSet::every(first, 1, a.layers), {"first_k_dense_replace"})});
  a.mtp = modules_like_last(c, a);
  return a;
}

}  // namespace

std::vector<Family> hunyuan_families() {
  return {
      {"hunyuan_v1_dense", hunyuan, {32, 4096, 32, 0, 0, 11008, 290943, 2048}},
      {"hunyuan_v1_moe", hunyuan_moe, {32, 4096, 32, 0, 0, 11008, 290943, 2048}},
      {"hunyuan", hunyuan_large, {32, 4096, 32, 0, 0, 11008, 290943, 2048}},
      {"hunyuan_vl hunyuan_vl_text", hunyuan, {32, 4096, 32, 0, 0, 11008, 290943, 2048, true}},
      {"hy_v3", hy_v3, {80, 4096, 64, 8, 128, 13312, 120832, 131072}},
  };
}

}  // namespace llmcalc::import
