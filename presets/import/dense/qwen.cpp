#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Sets sliding windows if use_sliding_window is true: in layers from max_window_layers on, or in the layers marked
/// in layer_types.
void qwen_window(const Config& c, Arch& a, Count first_by_default) {
  const Count window = c.is_null("sliding_window") ? 0 : c.count("sliding_window", 4096);
  const Count first = c.count("max_window_layers", first_by_default);
  const auto typed = layers_of_type(c, a, "sliding_attention");
  if (c.flag("use_sliding_window", false)) set_reach(a, {window}, typed.value_or(LayerSet::every(first, 1, a.layers)));
}

/// hub Qwen/Qwen-7B, modeling_qwen.py: the first Qwen. q, k and v always have biases, other projections only if
/// no_bias (default true) is false. intermediate_size is twice the gated MLP's width. Heads are kv_channels wide.
Arch qwen(const Config& c, const Defaults& d) {
  Defaults own = d;
  own.head_dim = c.size("kv_channels", d.head_dim);
  Arch a = base_arch(c, own);
  a.qkv_bias = true;
  a.attention_out_bias = a.mlp_bias = !c.flag("no_bias", true);
  a.mlp_width /= 2;
  a.context = c.first_size({"seq_length", "max_position_embeddings"}, d.context);
  return a;
}

/// hf qwen2/modeling_qwen2.py: Llama with biases on q, k and v only, regardless of the config.
Arch qwen2(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = true;
  qwen_window(c, a, 28);
  return a;
}

/// hf qwen3/modeling_qwen3.py: `attention_bias` (default false) on q, k, v and o; RMSNorms of the head width on q and
/// k. hub JetLM/SDAR-8B-Chat, modeling_sdar.py: as Qwen 3, but generates tokens in blocks.
Arch qwen3(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  qwen_window(c, a, 28);
  return a;
}

/// hf qwen2_moe/modeling_qwen2_moe.py: `qkv_bias` (default true) on q, k, v; one shared expert with a sigmoid gate;
/// router without bias.
Arch qwen2_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("qkv_bias", true);
  qwen_window(c, a, 28);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 60),
                  .top_k = c.size("num_experts_per_tok", 4),
                  .width = c.size("moe_intermediate_size", 1408),
                  .shared_experts = 1,
                  .shared_width = c.size("shared_expert_intermediate_size", 5632),
                  .shared_gate = true,
                  .layers = sparse_layers(c, a)});
  return a;
}

/// hf qwen3_moe/modeling_qwen3_moe.py: Qwen 3 with experts, but no shared expert.
Arch qwen3_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  c.ignore({"use_qk_norm", "qkv_bias"});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = QkNorm::per_head;
  qwen_window(c, a, 0);
  set_experts(a, {.experts = c.size({"num_experts", "num_local_experts"}, 128),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = c.size("moe_intermediate_size", 768),
                  .layers = sparse_layers(c, a)});
  return a;
}

}  // namespace

LayerSet sparse_layers(const Config& c, const Arch& a) {
  const Count step = c.size("decoder_sparse_step", 1);
  const LayerSet regular = LayerSet::every(step - 1, step, a.layers);
  const LayerSet dense = listed_layers(c, a, "mlp_only_layers").value_or(LayerSet());
  return sparse_or(c, a, regular.filtered(dense, false), {"decoder_sparse_step", "mlp_only_layers"});
}

std::vector<Family> qwen_families() {
  return {
      {"qwen", qwen, {32, 4096, 32, 0, 128, 22016, 151936, 8192}},
      {"qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", qwen2, {32, 4096, 32, 32, 0, 22016, 151936, 32768}},
      {"qwen2_5_omni_text", qwen2, {28, 3584, 28, 4, 0, 18944, 152064, 32768}},
      {"qwen3 qwen3_vl_text sdar", qwen3, {32, 4096, 32, 32, 128, 22016, 151936, 32768}},
      {"qwen2_moe", qwen2_moe, {24, 2048, 16, 16, 0, 5632, 151936, 32768}},
      {"qwen3_moe qwen3_vl_moe_text sdar_moe", qwen3_moe, {24, 2048, 32, 4, 0, 6144, 151936, 32768}},
      {"qwen3_omni_moe_text", qwen3_moe, {28, 2048, 28, 4, 0, 18944, 3584, 32768}},
  };
}

}  // namespace llmcalc::import
