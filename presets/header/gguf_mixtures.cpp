// GGUF architectures with experts and unusual keys. Sources for the keys: github.com/ggml-org/llama.cpp,
// conversion/*.py and src/models/*.cpp.

#include <array>

#include "presets/header/gguf_model.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// Sets the window and, from `slides`, the layer types. If the window is 0, all layers have full attention.
void windows(const GgufModel& m, Value& c, const std::vector<bool>& slides) {
  if (m.count_or("attention.sliding_window", 0) == 0) return;
  c["sliding_window"] = m.count("attention.sliding_window");
  c["layer_types"] = Value::array();
  for (const bool one : slides) c["layer_types"].push_back(one ? "sliding_attention" : "full_attention");
}
void listed_windows(const GgufModel& m, Value& c) {
  if (m.has("attention.sliding_window")) windows(m, c, m.marks("attention.sliding_window_pattern", layers_of(c)));
}

/// Sets the MLP type of each layer: sparse if it has experts, otherwise dense.
void mlp_types(const GgufModel& m, Value& c) {
  c["mlp_layer_types"] = Value::array();
  for (Count i = 0; i < layers_of(c); ++i)
    c["mlp_layer_types"].push_back(m.in_layer(i, "ffn_gate_inp.weight") ? "sparse" : "dense");
}

/// DeepSeek-V4. If MTP modules were removed from a file, nextn_predict_layers still counts them, but block_count does
/// not. The list of ratios includes the modules' ratios at its end.
void deepseek4(const GgufModel& m, Value& c) {
  const Count layers = m.count("block_count");
  if (!m.in_layer(layers_of(c), "nextn.eh_proj.weight")) {
    c["num_hidden_layers"] = layers;
    c.erase("num_nextn_predict_layers");
  }
  c["compress_ratios"] = m.counts("attention.compress_ratios", layers_of(c));
  copy(m, c, "rope.dimension_count", "qk_rope_head_dim");
  copy(m, c, "attention.q_lora_rank", "q_lora_rank");
  copy(m, c, "attention.output_group_count", "o_groups");
  copy(m, c, "attention.output_lora_rank", "o_lora_rank");
  copy(m, c, "attention.sliding_window", "sliding_window");
  copy(m, c, "attention.indexer.head_count", "index_n_heads");
  copy(m, c, "attention.indexer.key_length", "index_head_dim");
  copy(m, c, "attention.indexer.top_k", "index_topk");
  copy(m, c, "hyper_connection.count", "hc_mult");
  experts(m, c, "n_routed_experts");
  copy(m, c, "expert_shared_count", "n_shared_experts");
}

/// Grok. Grok 2, whose model_type is "git", has a dense MLP parallel to the experts.
void grok(const GgufModel& m, Value& c) {
  if (!m.in_a_layer("ffn_up.weight")) {
    experts(m, c);
    if (m.has("expert_feed_forward_length")) c["intermediate_size"] = m.count("expert_feed_forward_length");
    c.erase("moe_intermediate_size");
    return;
  }
  c["model_type"] = "git";
  c["architectures"] = {"Grok1ForCausalLM"};
  c["residual_moe"] = true;
  experts(m, c, "num_local_experts");
}

void dbrx(const GgufModel& m, Value& c) {
  c["attn_config"] = {{"kv_n_heads", m.count("attention.head_count_kv")}};
  c["ffn_config"] = {{"moe_num_experts", m.count("expert_count")},
                     {"moe_top_k", m.count("expert_used_count")},
                     {"ffn_hidden_size", m.count("feed_forward_length")}};
  c.erase("num_key_value_heads");
}

/// Ling 1.0 and 1.5: expert_feed_forward_length is also the width of each shared expert.
void bailing_moe(const GgufModel& m, Value& c) {
  experts(m, c);
  c["num_shared_experts"] = m.count_or("expert_shared_count", 0);
  c["first_k_dense_replace"] = m.count_or("leading_dense_block_count", 0);
  c["use_qkv_bias"] = m.in_a_layer("attn_q.bias");
  c["use_bias"] = m.in_a_layer("attn_output.bias");
  c["use_qk_norm"] = m.in_a_layer("attn_q_norm.weight");
  c["moe_router_enable_expert_bias"] = m.in_a_layer("exp_probs_b.bias");
}

/// SmallThinker: if the file has a window, every fourth layer has full attention, starting with the first.
void smallthinker(const GgufModel& m, Value& c) {
  copy(m, c, "expert_count", "moe_num_primary_experts");
  copy(m, c, "expert_used_count", "moe_num_active_primary_experts");
  c["moe_ffn_hidden_size"] = m.count_or("expert_feed_forward_length", m.count_or("feed_forward_length", 0));
  if (m.count_or("attention.sliding_window", 0) == 0) return;
  c["sliding_window_size"] = m.count("attention.sliding_window");
  c["sliding_window_layout"] = Value::array();
  for (Count i = 0; i < layers_of(c); ++i) c["sliding_window_layout"].push_back(i % 4 == 0 ? 0 : 1);
}

void hy_v3(const GgufModel& m, Value& c) {
  experts(m, c);
  mlp_types(m, c);
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  const Count width = m.count("expert_feed_forward_length"),
              shared = m.count_or("expert_shared_feed_forward_length", 0);
  if (width == 0 || shared % width != 0)
    m.refuse("the shared expert's width is not a multiple of an expert's width; the file is damaged");
  c["num_shared_experts"] = shared / width;
  c["moe_router_enable_expert_bias"] = m.in_a_layer("exp_probs_b.bias");
}

/// Whether each layer has a window. sliding_window_pattern is a list, or a number n (default 4), in which case every
/// n-th layer has full attention, starting with the first.
std::vector<bool> laguna_windows(const GgufModel& m, Count layers) {
  constexpr const char* key = "attention.sliding_window_pattern";
  if (m.is_list(key)) return m.marks(key, layers);
  const Count step = m.count_or(key, 4);
  if (step < 1) m.refuse("the period of the window layers is 0; the file is damaged");
  std::vector<bool> slides;
  for (Count i = 0; i < layers; ++i) slides.push_back(i % step != 0);
  return slides;
}

/// Laguna: the gate has one value per head, or one per element of the heads' output. Head counts may differ between
/// layers.
void laguna(const GgufModel& m, Value& c) {
  const std::vector<Count> heads = m.counts("attention.head_count", layers_of(c));
  c["num_attention_heads"] = heads.front();
  c["num_attention_heads_per_layer"] = heads;
  c["num_key_value_heads"] = m.count("attention.head_count_kv");
  c["intermediate_size"] = m.count("feed_forward_length");
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  c["gating"] = m.side("blk.0.attn_gate.weight", 0) == heads.front() ? "per-head" : "per-element";
  windows(m, c, laguna_windows(m, layers_of(c)));
  experts(m, c);
  mlp_types(m, c);
  copy(m, c, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

void llada_moe(const GgufModel& m, Value& c) {
  experts(m, c);
  c["qk_layernorm"] = m.in_a_layer("attn_q_norm.weight");
}

void mellum(const GgufModel& m, Value& c) {
  listed_windows(m, c);
  experts(m, c);
  mlp_types(m, c);
}

/// Cohere 2 with experts. A layer has a single norm for all its sub-layers. No key states the kind of norm.
void cohere2_moe(const GgufModel& m, Value& c) {
  listed_windows(m, c);
  c["prefix_dense_intermediate_size"] = m.count("feed_forward_length");
  c["intermediate_size"] = m.count("expert_feed_forward_length");
  c["num_shared_experts"] = m.count_or("expert_shared_count", 0);
  if (m.has("attention.layer_norm_rms_epsilon")) c["rms_norm_eps"] = 1e-6;
  copy(m, c, "expert_count", "num_experts");
  copy(m, c, "expert_used_count", "num_experts_per_tok");
  mlp_types(m, c);
}

void granite_swa(const GgufModel& m, Value& c) {
  listed_windows(m, c);
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  if (m.count_or("expert_count", 0) == 0) return;
  c["model_type"] = "granitemoe_swa";
  experts(m, c, "num_local_experts");
  c.erase("moe_intermediate_size");
  copy(m, c, "expert_shared_feed_forward_length", "shared_intermediate_size");
}

constexpr std::array gguf_mixture_rows{
    GgufFamily{"deepseek4", "deepseek_v4", deepseek4},
    GgufFamily{"grok", "grok-1", grok},
    GgufFamily{"dbrx", "dbrx", dbrx},
    GgufFamily{"bailingmoe", "bailing_moe", bailing_moe},
    GgufFamily{"smallthinker", "smallthinker", smallthinker},
    GgufFamily{"hy_v3", "hy_v3", hy_v3},
    GgufFamily{"laguna", "laguna", laguna, true},
    GgufFamily{"mellum", "mellum", mellum},
    GgufFamily{"cohere2moe", "cohere2_moe", cohere2_moe},
    GgufFamily{"granite-swa", "granite_swa", granite_swa},
    GgufFamily{"llada-moe", "llada_moe", llada_moe},
};

}  // namespace

std::span<const GgufFamily> gguf_mixtures() { return gguf_mixture_rows; }

}  // namespace llmcalc
