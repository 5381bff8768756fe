#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf cohere/modeling_cohere.py: a parallel block with one LayerNorm without bias; `attention_bias` on q, k, v and o;
/// tied by default. `use_qk_norm` (Command R+) norms q and k with a weight for every head's every dimension.
Arch cohere(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  a.norm = NormKind::layer_norm_no_bias;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", false)) a.qk_norm = QkNorm::each_head;
  return a;
}

/// hf cohere2/modeling_cohere2.py: the same without qk-norm; all but every fourth layer slide.
Arch cohere2(const Config& c, const Defaults& d) {
  Arch a = cohere(c, d);
  a.qk_norm = QkNorm::none;
  const Count step = c.first_size({"sliding_window_pattern", "_sliding_window_pattern"}, 4);
  const LayerSet local = others(LayerSet::every(step - 1, step, a.layers), a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

}  // namespace

std::vector<Family> cohere_families() {
  return {
      {"cohere", cohere, {40, 8192, 64, 0, 0, 22528, 256000, 8192, true}},
      {"cohere2", cohere2, {40, 8192, 64, 0, 0, 22528, 256000, 8192, true}},
  };
}

}  // namespace llmcalc::import
