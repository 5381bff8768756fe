#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf phi/modeling_phi.py: a parallel block with one LayerNorm; biases on every projection and on the untied head; a
/// plain MLP; `qk_layernorm` adds LayerNorms of the head width, with bias, on q and k.
Arch phi(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.head_bias = true;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "gelu_new");
  if (c.flag("qk_layernorm", false)) a.qk_norm = QkNorm::per_head_bias;
  return a;
}

/// hf phi3/modeling_phi3.py: Llama with fused projections and no biases, regardless of attention_bias; a window on
/// every layer unless sliding_window is absent or null. hub microsoft/Phi-3.5-vision-instruct, modeling_phi3_v.py
/// ("phi3_v"): Phi-3 with an encoder (vision_hub.cpp).
Arch phi3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_bias", "mlp_bias", "lm_head_bias", "full_attn_mod", "interpolate_factor"});
  set_reach(a, {c.count("sliding_window", 0)}, LayerSet::all(a.layers));
  return a;
}

/// hf phi4_multimodal/modeling_phi4_multimodal.py, hub microsoft/Phi-4-multimodal-instruct ("phi4mm"): Phi-3 with sizes
/// at the top level, next to the encoders' sizes. Its low-rank adapters for images and sound (vision_lora, speech_lora)
/// are counted with the encoders.
Arch phi4_multimodal(const Config& c, const Defaults& d) {
  c.ignore({"embd_layer", "vision_lora", "speech_lora"});
  return phi3(c, d);
}

/// hf phimoe/modeling_phimoe.py: experts in every layer, LayerNorms with bias; `attention_bias` on q, k, v and o,
/// `lm_head_bias` on the head; no biases in experts and router.
Arch phimoe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.head_bias = c.flag("lm_head_bias", false);
  set_reach(a, {c.count("sliding_window", 0)}, LayerSet::all(a.layers));
  set_experts(a, {.experts = c.size({"num_local_experts", "num_experts"}, 16),
                  .top_k = c.size("num_experts_per_tok", 2),
                  .width = a.mlp_width,
                  .layers = LayerSet::all(a.layers)});
  return a;
}

}  // namespace

std::vector<Family> phi_families() {
  return {
      {"phi", phi, {24, 2048, 32, 0, 0, 8192, 51200, 2048}},
      {"phi3 phi3_v", phi3, {32, 3072, 32, 0, 0, 8192, 32064, 4096}},
      {"phi4_multimodal phi4mm", phi4_multimodal, {32, 3072, 32, 8, 0, 8192, 200064, 131072}},
      {"phimoe", phimoe, {32, 4096, 32, 8, 0, 6400, 32064, 131072}},
  };
}

}  // namespace llmcalc::import
