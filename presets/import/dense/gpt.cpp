#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Base of GPT-2 and its relatives: LayerNorms with bias, and a plain MLP with biases, of width 4 x hidden unless the
/// config states a width.
Arch gpt_arch(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.mlp_width = c.size({"n_inner", "intermediate_size"}, d.mlp > 0 ? d.mlp : mul(4, a.hidden));
  a.activation = activation(c, {"activation_function", "hidden_act"}, "gelu_new");
  a.norm = NormKind::layer_norm;
  return a;
}

/// Sets learned positions, one row per position.
void learn_positions(const Config& c, Arch& a) {
  a.position = Position::learned;
  a.context = a.position_rows = c.first_size({"n_positions", "max_position_embeddings", "n_ctx"}, a.context);
}

/// hf gpt2/modeling_gpt2.py. Biases everywhere, learned positions, tied by default. `d_head`, which is not a Hugging
/// Face key, is the head width in descriptions of GPT-3, two of whose models have an attention width other than the
/// hidden size.
Arch gpt2(const Config& c, const Defaults& d) {
  if (c.flag("add_cross_attention", false))
    c.refuse("\"add_cross_attention\" is true; only decoders without cross-attention are supported");
  Defaults own = d;
  own.head_dim = c.size("d_head", 0);
  Arch a = gpt_arch(c, own);
  learn_positions(c, a);
  return a;
}

/// hf gpt_bigcode/modeling_gpt_bigcode.py. GPT-2 with one KV head if multi_query is set (the default).
Arch gpt_bigcode(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  learn_positions(c, a);
  a.activation = activation(c, {"activation_function"}, "gelu_pytorch_tanh");
  a.kv_heads = c.flag("multi_query", true) ? 1 : a.heads;
  return a;
}

/// hf openai/modeling_openai.py. GPT-1: norms after each residual sum, no final norm.
Arch gpt1(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  learn_positions(c, a);
  a.activation = activation(c, {"afn"}, "gelu_new");
  a.norm_placement = NormPlacement::post;
  a.final_norm = false;
  return a;
}

/// hf gpt_neo/modeling_gpt_neo.py. Biases on attention's output and in the MLP, but not on q, k, v; every second layer
/// attends to window_size tokens (attention_layers, or attention_types with repetitions); tied by default.
Arch gpt_neo(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  learn_positions(c, a);
  c.ignore({"attention_types"});
  a.qkv_bias = false;
  const LayerSet odd = LayerSet::every(1, 2, a.layers);
  set_reach(a, {c.size("window_size", 256)}, layers_of_type(c, a, "local", "global", "attention_layers").value_or(odd));
  return a;
}

/// hf gpt_neox/modeling_gpt_neox.py. Two LayerNorms per layer; the block is parallel if use_parallel_residual is set
/// (the default). `attention_bias` (default true) on qkv and on the output; untied by default, no bias on the head.
Arch gpt_neox(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  a.activation = activation(c, {"hidden_act"}, "gelu");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", true);
  a.block = c.flag("use_parallel_residual", true) ? BlockKind::parallel : BlockKind::serial;
  a.norms_per_layer = 2;
  return a;
}

/// hf gptj/modeling_gptj.py and codegen/modeling_codegen.py. A parallel block with one LayerNorm; no biases in
/// attention, biases in the MLP and on the untied head.
Arch gptj(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  a.qkv_bias = a.attention_out_bias = false;
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  a.head_bias = true;
  return a;
}

/// hf opt/modeling_opt.py. The position table has two more rows than positions. `enable_bias` applies to every
/// projection. do_layer_norm_before false (350M): norms after each residual sum, no final norm. If
/// word_embed_proj_dim differs from hidden, projections without bias follow the token embedding and precede the head.
/// Tied by default.
Arch opt(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = c.flag("enable_bias", true);
  a.mlp = MlpKind::plain;
  a.mlp_width = c.size("ffn_dim", 3072);
  a.activation = activation(c, {"activation_function"}, "relu");
  const bool before = c.flag("do_layer_norm_before", true);
  a.norm = c.flag("layer_norm_elementwise_affine", true) ? NormKind::layer_norm : NormKind::weight_free;
  a.norm_placement = before ? NormPlacement::pre : NormPlacement::post;
  a.final_norm = !c.flag("_remove_final_layer_norm", false) && before;
  a.position = Position::learned;
  a.position_rows = add(a.context, 2);
  a.embedding_width = c.size("word_embed_proj_dim", a.hidden);
  return a;
}

/// hf biogpt/modeling_biogpt.py: GPT-2 with OPT's position rows.
Arch biogpt(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  a.activation = activation(c, {"hidden_act"}, "gelu");
  a.position = Position::learned;
  a.position_rows = add(a.context, 2);
  return a;
}

/// hf xglm/modeling_xglm.py: GPT-2 with sinusoidal positions and an MLP of ffn_dim.
Arch xglm(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  c.forget({"n_inner", "intermediate_size"});
  a.mlp_width = c.size("ffn_dim", 4096);
  a.activation = activation(c, {"activation_function"}, "gelu");
  a.position = Position::sinusoidal;
  return a;
}

/// hf ctrl/modeling_ctrl.py: GPT-2 with sinusoidal positions, an MLP of dff with ReLU and a bias on the tied head.
Arch ctrl(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  c.forget({"n_inner", "intermediate_size"});
  a.mlp_width = c.size("dff", 8192);
  a.activation = Activation::relu;
  a.position = Position::sinusoidal;
  a.head_bias = true;
  return a;
}

/// hf starcoder2/modeling_starcoder2.py. Serial, LayerNorm with bias, GQA, RoPE; `use_bias` applies to every
/// projection; a window on every layer unless sliding_window is absent or null; tied by default.
Arch starcoder2(const Config& c, const Defaults& d) {
  Arch a = gpt_arch(c, d);
  a.activation = activation(c, {"hidden_act"}, "gelu_pytorch_tanh");
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = c.flag("use_bias", true);
  c.ignore({"norm_type", "mlp_type"});
  set_reach(a, {c.count("sliding_window", 0)}, LayerSet::all(a.layers));
  return a;
}

}  // namespace

std::vector<Family> gpt_families() {
  return {
      {"gpt2 gpt-sw3", gpt2, {12, 768, 12, 0, 0, 0, 50257, 1024, true}},
      {"gpt_bigcode", gpt_bigcode, {12, 768, 12, 0, 0, 0, 50257, 1024, true}},
      {"openai-gpt", gpt1, {12, 768, 12, 0, 0, 0, 40478, 512, true}},
      {"gpt_neo", gpt_neo, {24, 2048, 16, 0, 0, 0, 50257, 2048, true}},
      {"gpt_neox", gpt_neox, {44, 6144, 64, 0, 0, 24576, 50432, 2048}},
      {"gptj codegen", gptj, {28, 4096, 16, 0, 0, 0, 50400, 2048}},
      {"opt", opt, {12, 768, 12, 0, 0, 0, 50272, 2048, true}},
      {"biogpt", biogpt, {24, 1024, 16, 0, 0, 4096, 42384, 1024, true}},
      {"xglm", xglm, {24, 1024, 16, 0, 0, 4096, 256008, 2048, true}},
      {"ctrl", ctrl, {48, 1280, 16, 0, 0, 8192, 246534, 256, true}},
      {"starcoder2", starcoder2, {30, 3072, 24, 2, 0, 12288, 49152, 4096, true}},
  };
}

}  // namespace llmcalc::import
