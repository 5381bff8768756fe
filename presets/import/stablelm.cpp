#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf stablelm/modeling_stablelm.py: Llama with LayerNorms; `use_qkv_bias` on q, k, v, none on o and in the MLP. A
/// parallel block (use_parallel_residual) has one norm. `qk_layernorm` gives every head a LayerNorm without bias of its
/// own.
Arch stablelm(const Config& c) {
  Arch a = base_arch(
      c,
      {.layers = 32, .hidden = 2560, .heads = 32, .kv_heads = 32, .mlp = 6912, .vocabulary = 50304, .context = 4096});
  a.norm = NormKind::layer_norm;
  a.qkv_bias = c.flag("use_qkv_bias", false);
  if (c.flag("qk_layernorm", false)) a.qk_norm = QkNorm::each_head;
  if (c.flag("use_parallel_residual", false)) {
    a.block = BlockKind::parallel;
    a.norms_per_layer = 1;
  }
  return a;
}

/// hf persimmon/modeling_persimmon.py: LayerNorms, a plain MLP of squared ReLU, biases on every projection but the
/// untied head; `qk_layernorm` (default true) puts LayerNorms with bias of the head width on q and k.
Arch persimmon(const Config& c) {
  Arch a =
      base_arch(c, {.layers = 36, .hidden = 4096, .heads = 64, .mlp = 16384, .vocabulary = 262144, .context = 16384});
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  if (c.flag("qk_layernorm", true)) a.qk_norm = QkNorm::per_head_bias;
  return a;
}

/// hf nemotron/modeling_nemotron.py: LayerNorms stored as 1 + w with bias, a plain MLP of squared ReLU;
/// `attention_bias` on q, k, v and o, `mlp_bias` in the MLP.
Arch nemotron(const Config& c) {
  Arch a =
      base_arch(c, {.layers = 32, .hidden = 6144, .heads = 48, .mlp = 24576, .vocabulary = 256000, .context = 4096});
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  return a;
}

}  // namespace

std::vector<Family> stablelm_families() {
  return {{"stablelm", stablelm}, {"stablelm_epoch", stablelm}, {"persimmon", persimmon}, {"nemotron", nemotron}};
}

}  // namespace llmcalc::import
