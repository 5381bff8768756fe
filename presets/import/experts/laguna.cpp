// Laguna and Mellum: mixtures of experts whose layers differ in heads and windows.

#include <fmt/format.h>

#include "presets/import/families.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

/// Number of heads in each layer: num_attention_heads_per_layer, or num_attention_heads for all.
std::vector<Count> laguna_heads(const Config& c, const Arch& a) {
  constexpr const char* key = "num_attention_heads_per_layer";
  if (!c.has(key)) return std::vector<Count>(static_cast<std::size_t>(a.layers), a.heads);
  return counts_per_layer(c, a, key);
}

using HeadKinds = InplaceVector<LayerMixer, 4>;

/// The entry of `kinds` with this number of heads and this reach. If no entry matches, adds one with the other
/// properties of `own`.
LayerMixer& kind_with(const Config& c, HeadKinds& kinds, const Mixer& own, Count heads, const Reach& reach) {
  for (LayerMixer& kind : kinds)
    if (kind.heads == heads && kind.reach == reach) return kind;
  if (kinds.size() == kinds.capacity)
    c.refuse("layers have more than five combinations of heads and window; write an llmcalc model file");
  LayerMixer kind;
  static_cast<Mixer&>(kind) = own;
  kind.heads = heads;
  kind.reach = reach;
  return kinds.push(kind);
}

/// Sets mixers. The first layer's mixer becomes the model's default. Layers with a different number of heads have
/// separate mixers, with or without the window.
void set_laguna_heads(const Config& c, Arch& a, Count window, const LayerSet& slide) {
  const std::vector<Count> heads = laguna_heads(c, a);
  const Reach near{window < a.context ? window : 0};
  a.heads = heads.front();
  HeadKinds kinds;
  LayerSet own_slide;
  for (Count i = 0; i < a.layers; ++i) {
    const Count n = heads[static_cast<std::size_t>(i)];
    if (n != a.heads)
      kind_with(c, kinds, a, n, slide.contains(i) ? near : Reach()).layers.insert(i);
    else if (slide.contains(i))
      own_slide.insert(i);
  }
  set_reach(a, near, own_slide);
  for (const LayerMixer& kind : kinds) set_mixer(a, kind);
}

/// Gate on attention's output for a config value: true (the same as "per-head"), "per-head" or "per-element".
AttentionGate gate_called(const Config& c, const json::Value& said) {
  if (said == true || said == "per-head") return AttentionGate::per_head;
  if (said == "per-element") return AttentionGate::per_channel;
  c.refuse("\"gating\": expected true, per-head or per-element, got " +
           in_quotes(said.is_string() ? said.get<std::string>() : said.dump()));
}

/// Gate from "gating", which applies to all layers, or from the per-layer list "gating_types". A gate per head if
/// both are absent.
AttentionGate laguna_gate(const Config& c) {
  const json::Value* said = c.find("gating");
  std::vector<AttentionGate> gates;
  if (said != nullptr) gates.push_back(gate_called(c, *said));
  if (c.has("gating_types"))
    for (const std::string& type : c.texts("gating_types")) gates.push_back(gate_called(c, type));
  for (const AttentionGate gate : gates)
    if (gate != gates.front())
      c.refuse("\"gating\" and \"gating_types\": layers with different gates are not supported; use one value for all");
  return gates.empty() ? AttentionGate::per_head : gates.front();
}

/// Layers with experts: those marked sparse in mlp_layer_types, or all layers except mlp_only_layers.
std::optional<LayerSet> laguna_sparse(const Config& c, const Arch& a) {
  const LayerSet dense = listed_layers(c, a, "mlp_only_layers").value_or(LayerSet());
  const auto rest = dense.empty() ? std::nullopt : std::optional(others(dense, a.layers));
  return said_layers(c, {{"mlp_layer_types", sparse_typed(c, a)}, {"mlp_only_layers", rest}});
}

/// hf laguna/modeling_laguna.py: head counts per layer, RMSNorms of the head width on q and k, a softplus gate on
/// attention's output, `attention_bias` on q, k, v and o; layers marked sparse in mlp_layer_types (default: all
/// except the first) have experts, a shared expert without a gate, and a load-balancing bias without a gradient.
/// Windows follow layer_types. A softplus counts as a sigmoid.
Arch laguna(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  a.attention_gate = laguna_gate(c);
  c.ignore({"decoder_sparse_step", "qkv_bias", "moe_routed_scaling_factor", "moe_router_logit_softcapping",
            "moe_apply_router_weight_on_input", "moe_router_use_sigmoid"});
  const LayerSet slide = layers_of_type(c, a, "sliding_attention").value_or(LayerSet());
  set_laguna_heads(c, a, c.is_null("sliding_window") ? 0 : c.count("sliding_window", 512), slide);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 256),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = c.size("moe_intermediate_size", 512),
                  .shared_experts = 1,
                  .shared_width = c.size("shared_expert_intermediate_size", 512),
                  .router_correction = true,
                  .layers = laguna_sparse(c, a).value_or(LayerSet::every(1, 1, a.layers))});
  return a;
}

/// hf mellum/modeling_mellum.py: Qwen 3 with experts and a router without bias in layers marked sparse in
/// mlp_layer_types (default: all). Windows follow layer_types.
Arch mellum(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  c.ignore({"max_window_layers", "use_sliding_window", "decoder_sparse_step"});
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 1024);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(LayerSet()));
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 64),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = c.size("moe_intermediate_size", 896),
                  .layers = laguna_sparse(c, a).value_or(LayerSet::all(a.layers))});
  return a;
}

}  // namespace

std::vector<Family> laguna_families() {
  return {
      {"laguna", laguna, {40, 2048, 48, 8, 128, 8192, 100352, 131072}},
      {"mellum", mellum, {28, 2304, 32, 4, 128, 7168, 98304, 131072}},
  };
}

}  // namespace llmcalc::import
