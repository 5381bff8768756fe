#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf glm/modeling_glm.py: Llama; `attention_bias` (default true) on q, k and v only; no biases in the MLP.
Arch glm(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("attention_bias", true);
  return a;
}

/// hf glm4/modeling_glm4.py: GLM with norms before and after each sub-layer.
Arch glm4(const Config& c, const Defaults& d) {
  Arch a = glm(c, d);
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  return a;
}

/// hf glm_ocr/modeling_glm_ocr.py: GLM-4 without biases.
Arch glm_ocr(const Config& c, const Defaults& d) {
  Arch a = glm4(c, d);
  a.qkv_bias = false;
  return a;
}

/// hub THUDM/chatglm3-6b and THUDM/glm-4-9b, modeling_chatglm.py: Llama with Megatron's key names. `add_qkv_bias` on
/// q, k, v, `add_bias_linear` on every projection; LayerNorm unless `rmsnorm`; `post_layer_norm` is the final norm.
/// Untied.
Arch chatglm(const Config& c, const Defaults& d) {
  Defaults own = d;
  own.head_dim = c.size("kv_channels", d.head_dim);
  Arch a = base_arch(c, own);
  a.context = c.first_size({"seq_length", "max_position_embeddings"}, d.context);
  a.vocabulary = c.first_size({"padded_vocab_size", "vocab_size"}, d.vocabulary);
  a.mlp_width = c.size("ffn_hidden_size", d.mlp);
  const Count groups = c.size("multi_query_group_num", 1);
  if (c.flag("multi_query_attention", false)) a.kv_heads = groups;
  const bool bias = c.flag("add_bias_linear", false);
  a.qkv_bias = c.flag("add_qkv_bias", false) || bias;
  a.attention_out_bias = a.mlp_bias = bias;
  a.norm = c.flag("rmsnorm", true) ? NormKind::rms_norm : NormKind::layer_norm;
  a.final_norm = c.flag("post_layer_norm", true);
  c.ignore({"apply_residual_connection_post_layernorm", "bias_dropout_fusion"});
  return a;
}

}  // namespace

std::vector<Family> glm_families() {
  return {
      {"glm", glm, {40, 4096, 32, 2, 128, 13696, 151552, 131072}},
      {"glm4 glm4v_text", glm4, {40, 4096, 32, 2, 128, 13696, 151552, 131072}},
      {"glm_ocr_text", glm_ocr, {16, 1024, 16, 8, 0, 4096, 59392, 131072}},
      {"chatglm", chatglm, {28, 4096, 32, 0, 128, 13696, 65024, 2048}},
  };
}

}  // namespace llmcalc::import
