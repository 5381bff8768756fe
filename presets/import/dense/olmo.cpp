#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf olmo/modeling_olmo.py: Llama with weight-free norms; `attention_bias` on q, k, v and o.
Arch olmo(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm = NormKind::weight_free;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  return a;
}

/// hf olmo2/modeling_olmo2.py: RMSNorms on the output of each sub-layer, and on q and k over their whole width.
Arch olmo2(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.norm_placement = NormPlacement::output;
  a.qk_norm = QkNorm::full;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  return a;
}

/// hf olmo3/modeling_olmo3.py: OLMo 2; all layers except every fourth have a sliding window.
Arch olmo3(const Config& c, const Defaults& d) {
  Arch a = olmo2(c, d);
  const LayerSet local = others(LayerSet::every(3, 4, a.layers), a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

/// hf olmoe/modeling_olmoe.py: experts in every layer, router without bias; norms before each sub-layer, and norms on
/// q and k over their whole width.
Arch olmoe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qk_norm = QkNorm::full;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 64),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = a.mlp_width,
                  .layers = LayerSet::all(a.layers)});
  return a;
}

/// hf flex_olmo/modeling_flex_olmo.py: OLMo 2 with experts in every layer, router without bias.
Arch flex_olmo(const Config& c, const Defaults& d) {
  Arch a = olmo2(c, d);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 7),
                  .top_k = c.size("num_experts_per_tok", 5),
                  .width = a.mlp_width,
                  .layers = LayerSet::all(a.layers)});
  return a;
}

}  // namespace

std::vector<Family> olmo_families() {
  return {
      {"olmo", olmo, {32, 4096, 32, 0, 0, 11008, 50304, 2048}},
      {"olmo2", olmo2, {32, 4096, 32, 0, 0, 11008, 50304, 2048}},
      {"olmo3", olmo3, {32, 4096, 32, 0, 0, 11008, 50304, 2048}},
      {"flex_olmo", flex_olmo, {32, 4096, 32, 0, 0, 11008, 100352, 4096}},
      {"olmoe", olmoe, {16, 2048, 16, 0, 0, 2048, 50304, 4096}},
  };
}

}  // namespace llmcalc::import
