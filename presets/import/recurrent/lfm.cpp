#include <cmath>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Layers with attention, according to layer_types or full_attn_idxs; by default, all layers.
LayerSet attention_layers(const Config& c, const Arch& a) {
  const auto listed = listed_layers(c, a, "full_attn_idxs");
  return layers_of_type(c, a, "full_attention", "conv").value_or(listed.value_or(LayerSet::all(a.layers)));
}

/// hf lfm2_moe/modeling_lfm2_moe.py without its experts: some layers have attention with RMSNorms of the head width
/// on q and k, all others a gated short convolution. "embedding_norm" is the final norm. Tied by default.
Arch lfm2_layers(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.tied_head = c.flag("tie_word_embeddings", c.flag("tie_embedding", d.tied));
  a.qk_norm = QkNorm::per_head;
  LayerMixer convolution;
  convolution.attention = AttentionKind::none;
  convolution.recurrent = {.kind = RecurrentKind::short_convolution,
                           .heads = a.hidden,
                           .head_dim = 1,
                           .taps = c.size("conv_L_cache", 3),
                           .convolution_bias = c.flag("conv_bias", false)};
  if (convolution.recurrent.convolution_bias)
    c.refuse("\"conv_bias\" is true; biases on the projections of the convolution are not supported");
  convolution.layers = others(attention_layers(c, a), a.layers);
  set_mixer(a, convolution);
  return a;
}

/// hf lfm2/modeling_lfm2.py, Lfm2MLP: with block_auto_adjust_ff_dim (default true), the MLP's width is two thirds of
/// the stated width, times block_ffn_dim_multiplier, rounded up to a multiple of block_multiple_of.
Arch lfm2(const Config& c, const Defaults& d) {
  Arch a = lfm2_layers(c, d);
  c.ignore({"block_mlp_init_scale", "block_norm_eps", "block_use_swiglu", "num_heads", "use_pos_enc"});
  for (const char* width : {"block_dim", "conv_dim", "conv_dim_out"})
    c.require_repeated(width, "\"hidden_size\"", a.hidden);
  const Count width = c.size({"block_ff_dim", "intermediate_size"}, d.mlp), step = c.size("block_multiple_of", 256);
  const bool adjusted = c.flag("block_auto_adjust_ff_dim", true);
  const double factor = c.number("block_ffn_dim_multiplier", 1);
  a.mlp_width = width;
  if (adjusted)
    a.mlp_width = mul(step, ceil_div(static_cast<Count>(factor * static_cast<double>(mul(2, width) / 3)), step));
  return a;
}

/// hf lfm2_moe/modeling_lfm2_moe.py: the first num_dense_layers layers are dense, with intermediate_size unadjusted;
/// the load-balancing bias is a buffer.
Arch lfm2_moe(const Config& c, const Defaults& d) {
  Arch a = lfm2_layers(c, d);
  set_experts(a, {.experts = c.size("num_experts", 32),
                  .top_k = c.size("num_experts_per_tok", 4),
                  .width = c.size("moe_intermediate_size", 1792),
                  .router_correction = c.flag("use_expert_bias", true),
                  .layers = sparse_or(c, a, LayerSet::every(c.count("num_dense_layers", 2), 1, a.layers),
                                      {"num_dense_layers"})});
  return a;
}

}  // namespace

std::vector<Family> lfm_families() {
  return {
      {"lfm2", lfm2, {32, 2560, 32, 8, 0, 12288, 65536, 128000, true}},
      {"lfm2_moe", lfm2_moe, {32, 2048, 32, 8, 0, 7168, 65536, 128000, true}},
  };
}

}  // namespace llmcalc::import
