#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// hf cohere/modeling_cohere.py: a parallel block with one LayerNorm without bias; `attention_bias` on q, k, v and o;
/// tied by default. `use_qk_norm` (Command R+) normalizes q and k with one weight per head and dimension.
Arch cohere(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.block = BlockKind::parallel;
  a.norms_per_layer = 1;
  a.norm = NormKind::layer_norm_no_bias;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  if (c.flag("use_qk_norm", false)) a.qk_norm = QkNorm::each_head;
  c.ignore({"order_of_interleaved_layers", "position_embedding_type", "use_embedding_sharing", "use_gated_activation",
            "use_parallel_block"});
  return a;
}

/// Throws InputError if the config requests query and key norms, which Cohere 2 does not have.
void refuse_qk_norm(const Config& c) {
  if (c.flag("use_qk_norm", false))
    c.refuse("\"use_qk_norm\" is true, but Cohere 2 has no query and key norms; set it to false");
}

/// hf cohere2/modeling_cohere2.py: Cohere without query and key norms; all layers except every fourth have a sliding
/// window.
Arch cohere2(const Config& c, const Defaults& d) {
  Arch a = cohere(c, d);
  refuse_qk_norm(c);
  const Count step = c.first_size({"sliding_window_pattern", "_sliding_window_pattern"}, 4);
  const LayerSet local = others(LayerSet::every(step - 1, step, a.layers), a.layers);
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  set_reach(a, {window}, layers_of_type(c, a, "sliding_attention").value_or(local));
  return a;
}

/// Layers with experts: those marked sparse in mlp_layer_types, or all layers from first_k_dense_replace on.
LayerSet cohere_sparse_layers(const Config& c, const Arch& a) {
  const Count first = c.count("first_k_dense_replace", 0);
  return sparse_or(c, a, LayerSet::every(first, 1, a.layers), {"first_k_dense_replace"});
}

/// Layers with a sliding window. Without layer_types, these are the leading dense layers except every
/// prefix_dense_sliding_window_pattern-th, and the other layers except every sliding_window_pattern-th.
LayerSet cohere_local_layers(const Config& c, const Arch& a) {
  const Count first = c.count("first_k_dense_replace", 0);
  const Count before = c.size("prefix_dense_sliding_window_pattern", 1), step = c.size("sliding_window_pattern", 4);
  if (const auto typed = layers_of_type(c, a, "sliding_attention")) return *typed;
  LayerSet set;
  for (Count i = 0; i < a.layers; ++i)
    if ((i < first ? (i + 1) % before : (i - first + 1) % step) != 0) set.insert(i);
  return set;
}

/// hf cohere2_moe/modeling_cohere2_moe.py: Cohere 2 with experts of width intermediate_size, a router without bias, and
/// num_shared_experts fused into one MLP; dense layers have prefix_dense_intermediate_size (if absent:
/// intermediate_size). With rms_norm_eps, norms are RMSNorms.
Arch cohere2_moe(const Config& c, const Defaults& d) {
  Arch a = cohere(c, d);
  refuse_qk_norm(c);
  if (c.has("rms_norm_eps")) a.norm = NormKind::rms_norm;
  set_reach(a, {c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096)}, cohere_local_layers(c, a));
  const Count width = a.mlp_width, shared = c.count("num_shared_experts", 0);
  if (c.has("prefix_dense_intermediate_size")) a.mlp_width = c.size("prefix_dense_intermediate_size", width);
  c.ignore({"expert_selection_fn", "shared_expert_combination_strategy"});
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 8),
                  .top_k = c.size("num_experts_per_tok", 2),
                  .width = width,
                  .shared_experts = shared,
                  .shared_width = shared > 0 ? width : 0,
                  .layers = cohere_sparse_layers(c, a)});
  return a;
}

}  // namespace

std::vector<Family> cohere_families() {
  return {
      {"cohere", cohere, {40, 8192, 64, 0, 0, 22528, 256000, 8192, true}},
      {"cohere2", cohere2, {40, 8192, 64, 0, 0, 22528, 256000, 8192, true}},
      {"cohere2_moe", cohere2_moe, {40, 8192, 64, 0, 128, 22528, 256000, 8192, true}},
  };
}

}  // namespace llmcalc::import
