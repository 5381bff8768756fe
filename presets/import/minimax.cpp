#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Layers with lightning attention: "linear_attention" in layer_types, 0 in attn_type_list, or every second one.
LayerSet lightning_layers(const Config& c, const Arch& a) {
  if (const auto typed = layers_of_type(c, a, "linear_attention")) return *typed;
  if (!c.has("attn_type_list")) return LayerSet::every(1, 2, a.layers);
  const std::vector<Count> types = c.counts("attn_type_list");
  if (static_cast<Count>(types.size()) != a.layers) c.refuse("\"attn_type_list\" must have one entry per layer");
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if (types[static_cast<std::size_t>(i)] == 0) set.insert(i);
  return set;
}

Moe mixture(const Config& c, const Arch& a) {
  return {.experts = c.size({"num_local_experts", "num_experts"}, 8),
          .top_k = c.size("num_experts_per_tok", 2),
          .width = a.mlp_width,
          .layers = LayerSet::all(a.layers)};
}

/// hf minimax/modeling_minimax.py; hub MiniMaxAI/MiniMax-Text-01, modeling_minimax_text_01.py. No biases; experts in
/// every layer; lightning layers have q, k, v of all heads, an output gate and a norm over the attention width. A
/// shared_intermediate_size > 0 (hub) adds one shared expert behind a gate.
Arch minimax(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.linear_layers = lightning_layers(c, a);
  set_reach(a, {c.count("sliding_window", 0)}, others(a.linear_layers, a.layers));
  Moe m = mixture(c, a);
  m.shared_width = c.count("shared_intermediate_size", 0);
  m.shared_experts = m.shared_width > 0 ? 1 : 0;
  m.shared_gate = m.shared_width > 0;
  set_experts(a, m);
  c.ignore({"postnorm", "shared_moe_mode", "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
            "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha",
            "layernorm_mlp_beta"});
  return a;
}

/// hub MiniMaxAI/MiniMax-M2, modeling_minimax_m2.py: softmax attention throughout, RMSNorms on q and k over their whole
/// width (use_qk_norm), a load-balancing bias that is a buffer (use_routing_bias).
Arch minimax_m2(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"attn_type_list", "qk_norm_type", "shared_intermediate_size", "mtp_transformer_layers"});
  if (c.flag("use_qk_norm", true)) a.qk_norm = QkNorm::full;
  Moe m = mixture(c, a);
  m.router_correction = c.flag("use_routing_bias", true);
  set_experts(a, m);
  return a;
}

}  // namespace

std::vector<Family> minimax_families() {
  return {
      {"minimax minimax_text_01 minimax_m1", minimax, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
      {"minimax_m2", minimax_m2, {32, 4096, 32, 8, 0, 14336, 32000, 131072}},
  };
}

}  // namespace llmcalc::import
