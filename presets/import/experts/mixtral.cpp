#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// num_local_experts experts of width intermediate_size in every layer, num_experts_per_tok of them active per token,
/// no biases.
Moe mixture(const Config& c, const Arch& a, Count experts, Count top_k) {
  return {.experts = c.size({"num_local_experts", "num_experts"}, experts),
          .top_k = c.size("num_experts_per_tok", top_k),
          .width = a.mlp_width,
          .layers = LayerSet::all(a.layers)};
}

/// hf mixtral/modeling_mixtral.py: Mistral with experts; no window unless the config sets one.
Arch mixtral(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  set_reach(a, {c.count("sliding_window", 0)}, LayerSet::all(a.layers));
  set_experts(a, mixture(c, a, 8, 2));
  return a;
}

/// hf granitemoe/modeling_granitemoe.py and granitemoeshared: `attention_bias` on q, k, v and o; router and experts
/// without bias. shared_intermediate_size > 0 adds a dense MLP of that width parallel to the experts.
Arch granitemoe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attention_multiplier", "embedding_multiplier", "logits_scaling", "residual_multiplier"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  Moe m = mixture(c, a, 8, 2);
  m.shared_width = c.count("shared_intermediate_size", 0);
  m.shared_experts = m.shared_width > 0 ? 1 : 0;
  set_experts(a, m);
  return a;
}

/// hf granitemoe_swa/modeling_granitemoe_swa.py: Granite MoE with a sink per head and windows.
Arch granitemoe_swa(const Config& c, const Defaults& d) {
  Arch a = granitemoe(c, d);
  a.attention_sinks = true;
  set_granite_windows(c, a);
  return a;
}

/// Activation in ffn_act_fn: {"name": "silu"}.
Activation dbrx_activation(const Config& ffn) {
  if (!ffn.has("ffn_act_fn")) return Activation::silu;
  return activation(ffn.object("ffn_act_fn"), {"name"}, "silu");
}

/// hf dbrx/modeling_dbrx.py: LayerNorms without bias, no biases anywhere, gated experts in every layer; always untied.
Arch dbrx(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const json::Value none = json::Value::object();
  const Config attention = c.has("attn_config") ? c.object("attn_config") : Config(none, c.where());
  const Config ffn = c.has("ffn_config") ? c.object("ffn_config") : Config(none, c.where());
  a.kv_heads = attention.size("kv_n_heads", 1);
  a.norm = NormKind::layer_norm_no_bias;
  a.activation = dbrx_activation(ffn);
  set_experts(a, {.experts = ffn.size("moe_num_experts", 4),
                  .top_k = ffn.size("moe_top_k", 1),
                  .width = ffn.size("ffn_hidden_size", 3584),
                  .layers = LayerSet::all(a.layers)});
  return a;
}

/// Width of an MLP (github xai-org/grok-1 model.py, ffn_size): two thirds of widening_factor x hidden, rounded up to a
/// multiple of 8.
Count grok_width(const Config& c, Count hidden) {
  const Count width = mul(c.size("widening_factor", 8), hidden, 2) / 3;
  return c.size({"ffn_size", "intermediate_size"}, mul(8, ceil_div(width, 8)));
}

/// github xai-org/grok-1 run.py and model.py, with the original key names or the key names of ports to transformers:
/// RMSNorms before and after each sub-layer, gated GELU experts in every layer, router without bias, tied.
Arch grok(const Config& c, const Defaults& d) {
  Arch a;
  a.layers = c.size({"num_layers", "num_hidden_layers"}, d.layers);
  a.hidden = a.embedding_width = c.size({"emb_size", "hidden_size"}, d.hidden);
  a.heads = c.size({"num_q_heads", "num_attention_heads"}, d.heads);
  a.kv_heads = c.size({"num_kv_heads", "num_key_value_heads"}, d.kv_heads);
  a.head_dim = c.size({"key_size", "head_dim"}, d.head_dim);
  a.vocabulary = c.size("vocab_size", d.vocabulary);
  a.context = c.first_size({"sequence_len", "max_position_embeddings"}, d.context);
  a.tied_head = c.flag("tie_word_embeddings", d.tied);
  a.norm = NormKind::rms_norm;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.mlp = MlpKind::gated;
  a.activation = Activation::gelu;
  require_layers(c, a.layers);
  set_experts(a, {.experts = c.size("num_experts", 8),
                  .top_k = c.size({"num_selected_experts", "num_experts_per_tok"}, 2),
                  .width = grok_width(c, a.hidden),
                  .layers = LayerSet::all(a.layers)});
  return a;
}

/// github sgl-project/sglang, models/grok.py, for hub xai-org/grok-2, whose model_type is "git" (in hf an image model):
/// Grok-1 with an untied head and, if residual_moe is set, a dense MLP of width intermediate_size parallel to the
/// experts of width moe_intermediate_size.
Arch grok_2(const Config& c, const Defaults& d) {
  if (named_class(c) != "Grok1ForCausalLM")
    c.refuse(
        "\"git\" is supported only for Grok 2, whose \"architectures\" names Grok1ForCausalLM; GIT is not supported");
  Arch a = base_arch(c, d);
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.activation = Activation::gelu;
  Moe m = mixture(c, a, 8, 2);
  m.shared_experts = c.flag("residual_moe", false) ? 1 : 0;
  m.shared_width = m.shared_experts > 0 ? a.mlp_width : 0;
  m.width = c.size("moe_intermediate_size", a.mlp_width);
  c.ignore({"global_attn_every_n"});
  set_experts(a, m);
  return a;
}

/// hub PowerInfer/SmallThinker-21BA3B-Instruct, modeling_smallthinker.py: gated ReLU experts in every layer, without
/// biases. The router reads the input of the layer's attention, which affects no count. Layers marked in
/// sliding_window_layout have a sliding window. Layers without RoPE (rope_layout) do not affect parameter counts.
Arch smallthinker(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  if (c.flag("use_qk_norm", false)) c.refuse("\"use_qk_norm\" is true; query and key norms are not supported here");
  c.ignore({"sliding_window", "sliding_window_pattern", "rope_layout", "moe_primary_router_apply_softmax"});
  a.activation = Activation::relu;
  set_reach(a, {c.count("sliding_window_size", 4096)},
            marked_layers(c, a, "sliding_window_layout").value_or(LayerSet()));
  set_experts(a, {.experts = c.size("moe_num_primary_experts", 32),
                  .top_k = c.size("moe_num_active_primary_experts", 4),
                  .width = c.size("moe_ffn_hidden_size", 768),
                  .layers = LayerSet::all(a.layers)});
  return a;
}

/// hf gpt_oss/modeling_gpt_oss.py: `attention_bias` (default true) on q, k, v and o; one sink logit per head; experts
/// in every layer, with biases on router and experts; even layers have a sliding window.
Arch gpt_oss(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", true);
  a.attention_sinks = true;
  const LayerSet even = LayerSet::every(0, 2, a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 128);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(even));
  Moe m = mixture(c, a, 128, 4);
  m.router_bias = m.expert_bias = true;
  c.require_repeated("experts_per_token", "\"num_experts_per_tok\"", m.top_k);
  set_experts(a, m);
  return a;
}

/// hf afmoe/modeling_afmoe.py: RMSNorms before and after each sub-layer, RMSNorms of the head width on q and k; a
/// gate per channel on attention's output; `attention_bias` on q, k, v and o. The first num_dense_layers layers are
/// dense; all others have routed experts, and num_shared_experts fused into one MLP. expert_bias has no gradient. All
/// layers except every global_attn_every_n_layers-th have a sliding window and RoPE; the others have neither.
Arch afmoe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"num_expert_groups", "num_limited_groups", "route_norm"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.qk_norm = QkNorm::per_head;
  a.attention_gate = AttentionGate::per_channel;
  const Count every = c.size("global_attn_every_n_layers", 4);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 1024);
  const LayerSet local = others(LayerSet::every(every - 1, every, a.layers), a.layers);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
  const Count shared = c.count("num_shared_experts", 2), width = c.size("moe_intermediate_size", 1408);
  set_experts(a, {.experts = c.size("num_experts", 64),
                  .top_k = c.size("num_experts_per_tok", 6),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .router_correction = true,
                  .layers = sparse_or(c, a, LayerSet::every(c.count("num_dense_layers", 1), 1, a.layers),
                                      {"num_dense_layers"})});
  return a;
}

}  // namespace

void set_granite_windows(const Config& c, Arch& a) {
  const LayerSet local = others(LayerSet::every(0, 4, a.layers), a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 128);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
}

std::vector<Family> mixtral_families() {
  return {
      {"mixtral", mixtral, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
      {"granitemoe granitemoeshared", granitemoe, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"granitemoe_swa", granitemoe_swa, {32, 4096, 32, 0, 0, 11008, 32000, 2048}},
      {"dbrx", dbrx, {24, 2048, 16, 0, 0, 0, 32000, 2048}},
      {"grok-1", grok, {64, 6144, 48, 8, 128, 0, 131072, 8192, true}},
      {"git", grok_2, {64, 8192, 64, 8, 128, 32768, 131072, 131072}},
      {"smallthinker", smallthinker, {32, 1536, 12, 2, 128, 0, 151936, 131072, true}},
      {"gpt_oss", gpt_oss, {36, 2880, 64, 8, 64, 2880, 201088, 131072}},
      {"afmoe", afmoe, {32, 2048, 16, 0, 128, 6144, 200192, 16384}},
  };
}

}  // namespace llmcalc::import
