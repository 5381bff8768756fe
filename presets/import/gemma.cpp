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

}  // namespace

std::vector<Family> gemma_families() {
  return {
      {"gemma", gemma, {28, 3072, 16, 16, 256, 24576, 256000, 8192, true}},
      {"gemma2", gemma2, {26, 2304, 8, 4, 256, 9216, 256000, 8192, true}},
      {"gemma3_text", gemma3, {26, 2304, 8, 4, 256, 9216, 262208, 131072, true}},
  };
}

}  // namespace llmcalc::import
