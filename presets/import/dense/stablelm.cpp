#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf stablelm/modeling_stablelm.py: Llama with LayerNorms; `use_qkv_bias` on q, k, v; no biases on o and in the MLP.
/// A parallel block (use_parallel_residual) has one norm. `qk_layernorm` adds a separate LayerNorm without bias for
/// every head of q and k.
Arch stablelm(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::layer_norm;
  a.qkv_bias = c.flag("use_qkv_bias", false);
  if (c.flag("qk_layernorm", false)) a.qk_norm = QkNorm::each_head;
  if (c.flag("use_parallel_residual", false)) {
    a.block = BlockKind::parallel;
    a.norms_per_layer = 1;
  }
  return a;
}

/// hf persimmon/modeling_persimmon.py: LayerNorms, a plain MLP of squared ReLU, biases on every projection except the
/// untied head; `qk_layernorm` (default true) adds LayerNorms of the head width, with bias, on q and k.
Arch persimmon(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  if (c.flag("qk_layernorm", true)) a.qk_norm = QkNorm::per_head_bias;
  return a;
}

/// hf nemotron/modeling_nemotron.py: LayerNorms with bias that multiply by 1 + w, a plain MLP of squared ReLU;
/// `attention_bias` on q, k, v and o, `mlp_bias` in the MLP.
Arch nemotron(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::layer_norm;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "relu2");
  return a;
}

}  // namespace

std::vector<Family> stablelm_families() {
  return {
      {"stablelm stablelm_epoch", stablelm, {32, 2560, 32, 32, 0, 6912, 50304, 4096}},
      {"persimmon", persimmon, {36, 4096, 64, 0, 0, 16384, 262144, 16384}},
      {"nemotron", nemotron, {32, 6144, 48, 0, 0, 24576, 256000, 4096}},
  };
}

}  // namespace llmcalc::import
