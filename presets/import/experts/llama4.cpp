#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Layers with RoPE: those marked 1 in no_rope_layers, or all layers except every no_rope_layer_interval-th.
LayerSet rope_layers(const Config& c, const Arch& a) {
  const Count step = c.size("no_rope_layer_interval", 4);
  const std::vector<Count> marks = c.has("no_rope_layers") ? c.counts("no_rope_layers") : std::vector<Count>{};
  if (marks.empty()) return others(LayerSet::every(step - 1, step, a.layers), a.layers);
  if (static_cast<Count>(marks.size()) < a.layers)
    c.refuse("\"no_rope_layers\" has fewer entries than the model has layers; expected one per layer");
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if (marks[static_cast<std::size_t>(i)] != 0) set.insert(i);
  return set;
}

/// Layers with experts: moe_layers, or every interleave_moe_layer_step-th layer; none if the step is 0 (Llama Guard 4).
LayerSet expert_layers(const Config& c, const Arch& a) {
  const Count step = c.count("interleave_moe_layer_step", 1);
  const LayerSet regular = step == 0 ? LayerSet() : LayerSet::every(step - 1, step, a.layers);
  const LayerSet listed = listed_layers(c, a, "moe_layers").value_or(regular);
  return sparse_or(c, a, listed, {"moe_layers", "interleave_moe_layer_step"});
}

/// hf llama4/modeling_llama4.py, the text model. Layers with experts have num_local_experts experts of width
/// intermediate_size and a shared expert of the same width; all others have a dense MLP of width intermediate_size_mlp.
/// Router without bias; `attention_bias` on q, k, v and o; `use_qk_norm` (default true) adds weight-free norms on q and
/// k. Layers with RoPE attend within chunks of attention_chunk_size, all others to all tokens. Untied by default.
Arch llama4(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", true)) a.qk_norm = QkNorm::weight_free;
  const Count chunk = c.is_null("attention_chunk_size") ? 0 : c.count("attention_chunk_size", 8192);
  const LayerSet rope = rope_layers(c, a);
  set_reach(a, {chunk, true}, layers_of_type(c, a, "chunked_attention").value_or(rope));
  const Count width = a.mlp_width;
  a.mlp_width = c.size("intermediate_size_mlp", 16384);
  const LayerSet routed = expert_layers(c, a);
  c.ignore({"num_local_experts", "num_experts_per_tok"});
  if (routed.empty()) return a;
  set_experts(a, {.experts = c.size({"num_local_experts", "num_experts"}, 16),
                  .top_k = c.size("num_experts_per_tok", 1),
                  .width = width,
                  .shared_experts = 1,
                  .shared_width = width,
                  .layers = routed});
  return a;
}

}  // namespace

std::vector<Family> llama4_families() {
  return {
      {"llama4_text", llama4, {48, 5120, 40, 8, 128, 8192, 202048, 131072}},
  };
}

}  // namespace llmcalc::import
