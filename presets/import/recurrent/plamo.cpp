#include <fmt/format.h>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hub pfnet/plamo-2-1b, modeling_plamo.py, is_mamba: layer i is a Mamba layer if i % mamba_step differs from
/// mamba_step / 2. In models with at most mamba_step / 2 layers, every layer except the last is a Mamba layer.
LayerSet scanning_layers(const Config& c, const Arch& a) {
  const Count step = c.size("mamba_step", 2), half = step / 2;
  if (!c.flag("mamba_enabled", true)) return {};
  if (step < 2) c.refuse("\"mamba_step\" must be at least 2, since one layer in every mamba_step has attention");
  if (a.layers <= half) return LayerSet::all(a.layers - 1);
  return others(LayerSet::every(half, step, a.layers), a.layers);
}

/// hub pfnet/plamo-2-1b, modeling_plamo.py: every layer has a mixer and a gated MLP, each between two RMSNorms. A
/// mixer is either a Mamba scan without biases, with one step per head and RMSNorms on the low-rank step (max(64,
/// hidden / 16)), B and C, or attention within attention_window_size (except in full_attention_idx), with RMSNorms on
/// queries and keys that have separate weights for every head. Both have heads of the same width. States are float32.
/// Tied by default.
Arch plamo2(const Config& c, const Defaults& d) {
  Defaults own = d;
  own.head_dim = c.size("hidden_size_per_head", d.head_dim);
  Arch a = base_arch(c, own);
  c.ignore({"head_dim", "image_feature_size", "image_proj_type", "image_token_id", "linear_type", "fp8_accum_dtype",
            "eval_attention_n_bit", "eval_mlp_n_bit", "sliding_window", "rope_theta", "rope_local_theta"});
  c.forget({"head_dim"});
  for (const char* key : {"n_expert", "k_expert"})
    if (c.has(key))
      c.refuse("\"" + std::string(key) +
               "\": experts are not supported, since no released PLaMo 2 has them; write an llmcalc model file");
  a.head_dim = own.head_dim;
  a.qk_norm = QkNorm::each_head_rms;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  const LayerSet full = listed_layers(c, a, "full_attention_idx").value_or(LayerSet());
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.layers = scanning_layers(c, a);
  m.recurrent = {.kind = RecurrentKind::mamba,
                 .heads = c.size("mamba_num_heads", 64),
                 .head_dim = a.head_dim,
                 .key_heads = 1,
                 .key_dim = c.size("mamba_d_state", 64),
                 .taps = c.size("mamba_d_conv", 4),
                 .rank = std::max<Count>(64, a.hidden / 16),
                 .inner_norms = true,
                 .chunk = c.size("mamba_chunk_size", 256)};
  const LayerSet local = others(m.layers, a.layers).filtered(full, false);
  set_reach(a, {c.size("attention_window_size", 2048)}, local);
  set_mixer(a, m);
  return a;
}

/// hub pfnet/plamo-3-nict-8b-base, modeling_plamo.py: attention and a gated MLP, each between two RMSNorms. Attention
/// has RMSNorms on queries and keys, shared by all heads, and is limited to window_size tokens except in every
/// sliding_window_pattern-th layer. Tied by default.
Arch plamo3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"hidden_activation", "sliding_window", "interleaved_sliding_window", "rope_local_theta",
            "rope_scaling_factor", "initial_context_length", "scale_embedding"});
  if (c.flag("attention_bias", false))
    c.refuse("\"attention_bias\" is true, which is not supported, since no released PLaMo 3 sets it");
  a.qk_norm = QkNorm::per_head;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  const Count step = c.size("sliding_window_pattern", 8);
  set_reach(a, {c.size("window_size", 2048)}, others(LayerSet::every(step - 1, step, a.layers), a.layers));
  return a;
}

}  // namespace

std::vector<Family> plamo_families() {
  return {
      {"plamo2", plamo2, {32, 4096, 32, 4, 128, 13312, 32000, 2048, true}},
      {"plamo3", plamo3, {32, 4096, 32, 4, 128, 13312, 32000, 2048, true}},
  };
}

}  // namespace llmcalc::import
