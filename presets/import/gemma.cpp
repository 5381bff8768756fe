#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf gemma/modeling_gemma.py: gated GELU (tanh), RMSNorm stored as 1 + w, head width 256, tied by default; hidden_act
/// is ignored in favour of hidden_activation. `attention_bias` on q, k, v and o.
Arch gemma(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.activation = activation(c, {"hidden_activation"}, "gelu_pytorch_tanh");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  return a;
}

void sandwich(Arch& a) {
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
}

Count window(const Config& c) { return c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096); }

/// hf gemma2/modeling_gemma2.py: four norms per layer; even layers slide.
Arch gemma2(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  sandwich(a);
  const LayerSet even = LayerSet::every(0, 2, a.layers);
  set_reach(a, {window(c)}, layers_of_type(c, a, "sliding_attention").value_or(even));
  return a;
}

/// hf gemma3/modeling_gemma3.py: four norms per layer, RMSNorms of the head width on q and k; all but every sixth layer
/// (sliding_window_pattern) slide.
Arch gemma3(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  sandwich(a);
  a.qk_norm = QkNorm::per_head;
  const Count step = c.first_size({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const LayerSet local = others(LayerSet::every(step - 1, step, a.layers), a.layers);
  set_reach(a, {window(c)}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

/// Layers [first, end) of the model.
LayerSet layers_from(const Arch& a, Count first) { return LayerSet::every(first, 1, a.layers); }

/// Mixers of Gemma 4: window layers with own keys and values are the model's own; full layers have heads of
/// global_head_dim, and with attention_k_eq_v num_global_key_value_heads of them, whose keys are the values.
void gemma4_mixers(const Config& c, Arch& a, Count first_shared) {
  const LayerSet slide = layers_of_type(c, a, "sliding_attention").value_or([&] {
    return others(LayerSet::every(5, 6, a.layers), a.layers);
  }());
  const LayerSet shared = layers_from(a, first_shared), full = others(slide, a.layers);
  const Count window = c.count("sliding_window", 512);
  const Reach reach{window < a.context ? window : 0};
  LayerMixer global;
  static_cast<Mixer&>(global) = a;
  global.head_dim = c.size("global_head_dim", 512);
  global.key_is_value = c.flag("attention_k_eq_v", false);
  if (global.key_is_value) global.kv_heads = c.size("num_global_key_value_heads", a.kv_heads);
  global.layers = full.filtered(shared, false);
  LayerMixer shared_slide, shared_full = global;
  static_cast<Mixer&>(shared_slide) = a;
  shared_slide.shared_kv = shared_full.shared_kv = true;
  shared_full.key_is_value = false;
  shared_slide.reach = reach;
  shared_slide.layers = slide.filtered(shared, true);
  shared_full.layers = full.filtered(shared, true);
  set_reach(a, reach, slide.filtered(shared, false));
  for (const LayerMixer& m : {global, shared_slide, shared_full}) set_mixer(a, m);
}

/// Experts beside the dense MLP of every layer, each with norms of its own; the router has one, and a factor per
/// expert.
void gemma4_experts(const Config& c, Arch& a) {
  if (!c.flag("enable_moe_block", false)) return;
  set_experts(a, {.experts = c.size("num_experts", 128),
                  .top_k = c.size("top_k_experts", 8),
                  .width = c.size({"moe_intermediate_size", "expert_intermediate_size"}, 704),
                  .router_scales = true,
                  .beside_dense = true,
                  .layers = layers_from(a, 0)});
}

/// hf gemma4/modeling_gemma4.py, the text model: Gemma 3 with norms of values without weights, a stored factor per
/// layer, and per-layer inputs. The last num_kv_shared_layers read the keys and values of earlier ones and, with
/// use_double_wide_mlp, have MLPs twice as wide.
Arch gemma4(const Config& c, const Defaults& d) {
  Arch a = gemma(c, d);
  sandwich(a);
  a.qk_norm = QkNorm::per_head;
  a.value_norm = true;
  a.output_scale = true;
  const Count shared = c.is_null("num_kv_shared_layers") ? 0 : c.count("num_kv_shared_layers", 0);
  if (shared >= a.layers) c.refuse("\"num_kv_shared_layers\" is not below the number of layers; lower it");
  gemma4_mixers(c, a, a.layers - shared);
  if (shared > 0 && c.flag("use_double_wide_mlp", false))
    a.mlps.push({mul(2, a.mlp_width), layers_from(a, a.layers - shared)});
  gemma4_experts(c, a);
  const Count width = c.is_null("hidden_size_per_layer_input") ? 0 : c.count("hidden_size_per_layer_input", 256);
  const Count rows = c.size("vocab_size_per_layer_input", 262144);
  if (width > 0) a.per_layer = {.rows = rows, .width = width};
  return a;
}

}  // namespace

std::vector<Family> gemma_families() {
  return {
      {"gemma", gemma, {28, 3072, 16, 16, 256, 24576, 256000, 8192, true}},
      {"gemma2", gemma2, {26, 2304, 8, 4, 256, 9216, 256000, 8192, true}},
      {"gemma3_text", gemma3, {26, 2304, 8, 4, 256, 9216, 262208, 131072, true}},
      {"gemma4_text", gemma4, {30, 2304, 8, 4, 256, 9216, 262144, 131072, true}},
  };
}

}  // namespace llmcalc::import
