// GGUF architectures whose window layers are listed in the file or follow a rule of the family. Sources for the keys:
// github.com/ggml-org/llama.cpp, conversion/{gemma,mimo,step3,exaone,afmoe,plamo,muse_glimmer}.py and
// gguf-py/gguf/constants.py.

#include <array>

#include "presets/header/gguf_model.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// Sets layer_types and the window from the file's list of window layers, and returns that list.
std::vector<bool> sliding(const GgufModel& m, Value& c) {
  const std::vector<bool> slides = m.marks("attention.sliding_window_pattern", layers_of(c));
  c["layer_types"] = Value::array();
  for (const bool one : slides) c["layer_types"].push_back(one ? "sliding_attention" : "full_attention");
  c["sliding_window"] = m.count("attention.sliding_window");
  return slides;
}

/// Entry in `all` for the first layer with a window or, if `sliding` is false, for the first layer without a window;
/// `otherwise` if there is no such layer.
Count of_first(const std::vector<Count>& all, const std::vector<bool>& slides, bool sliding, Count otherwise) {
  const auto at = std::find(slides.begin(), slides.end(), sliding);
  return at == slides.end() ? otherwise : all[static_cast<std::size_t>(at - slides.begin())];
}

/// Sets the per-layer inputs, and the number of final layers that read another layer's keys and values.
void per_layer(const GgufModel& m, Value& c) {
  const Count width = m.count_or("embedding_length_per_layer_input", 0);
  c["num_kv_shared_layers"] = m.count_or("attention.shared_kv_layers", 0);
  c["hidden_size_per_layer_input"] = width;
  if (width > 0) c["vocab_size_per_layer_input"] = m.side("per_layer_token_embd.weight", 0);
}

/// Gemma 4: layers without a V matrix use the keys as values. All MLPs have the same width, except that layers that
/// share keys and values may have MLPs twice as wide.
void gemma4(const GgufModel& m, Value& c) {
  const Count layers = layers_of(c);
  const std::vector<bool> slides = sliding(m, c);
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers),
                           widths = m.counts("feed_forward_length", layers);
  per_layer(m, c);
  c["global_head_dim"] = m.count("attention.key_length");
  c["head_dim"] = m.count_or("attention.key_length_swa", m.count("attention.key_length"));
  c["num_key_value_heads"] = of_first(kv, slides, true, largest_of(kv));
  c["num_global_key_value_heads"] = of_first(kv, slides, false, largest_of(kv));
  const auto full = std::find(slides.begin(), slides.end(), false) - slides.begin();
  c["attention_k_eq_v"] = full < layers && m.in_layer(full, "attn_k.weight") && !m.in_layer(full, "attn_v.weight");
  c["intermediate_size"] = widths.front();
  c["use_double_wide_mlp"] = widths.back() != widths.front();
  c["enable_moe_block"] = m.count_or("expert_count", 0) > 0;
  experts(m, c);
  copy(m, c, "expert_used_count", "top_k_experts");
}

/// Gemma 3n: no key states the rank of the low-rank projections parallel to attention.
void gemma3n(const GgufModel& m, Value& c) {
  sliding(m, c);
  per_layer(m, c);
  c["altup_num_inputs"] = m.count("altup.num_inputs");
  c["laurel_rank"] = m.side("blk.0.laurel_l.weight", 0);
  c["num_key_value_heads"] = m.count("attention.head_count_kv");
  c["intermediate_size"] = m.counts("feed_forward_length", layers_of(c));
}

/// MiMo-V2: layers with a router have experts.
void mimo2(const GgufModel& m, Value& c) {
  const Count layers = layers_of(c);
  const std::vector<bool> slides = sliding(m, c);
  const std::vector<Count> kv = m.counts("attention.head_count_kv", layers);
  c.erase("layer_types");
  c["hybrid_layer_pattern"] = c["moe_layer_freq"] = Value::array();
  for (Count i = 0; i < layers; ++i) {
    c["hybrid_layer_pattern"].push_back(slides[static_cast<std::size_t>(i)] ? 1 : 0);
    c["moe_layer_freq"].push_back(m.in_layer(i, "ffn_gate_inp.weight") ? 1 : 0);
  }
  c["num_key_value_heads"] = of_first(kv, slides, false, largest_of(kv));
  c["swa_num_key_value_heads"] = of_first(kv, slides, true, largest_of(kv));
  for (const char* key : {"v_head_dim", "swa_v_head_dim"}) c[key] = m.count("attention.value_length");
  c["add_swa_attention_sink_bias"] = m.in_a_layer("attn_sinks.weight");
  c["intermediate_size"] = m.count("feed_forward_length");
  experts(m, c, "n_routed_experts");
}

void step35(const GgufModel& m, Value& c) {
  const Count layers = layers_of(c);
  const std::vector<bool> slides = sliding(m, c);
  const std::vector<Count> heads = m.counts("attention.head_count", layers),
                           kv = m.counts("attention.head_count_kv", layers);
  c["num_attention_heads"] = of_first(heads, slides, false, largest_of(heads));
  c["num_attention_groups"] = of_first(kv, slides, false, largest_of(kv));
  c["attention_other_setting"] = {{"num_attention_heads", of_first(heads, slides, true, largest_of(heads))},
                                  {"num_attention_groups", of_first(kv, slides, true, largest_of(kv))},
                                  {"head_dim", c["head_dim"]}};
  c["intermediate_size"] = m.count("feed_forward_length");
  experts(m, c, "moe_num_experts");
  copy(m, c, "expert_used_count", "moe_top_k");
  c["share_expert_dim"] = m.count_or("expert_shared_feed_forward_length", 0);
  c["use_head_wise_attn_gate"] = m.in_a_layer("attn_gate.weight");
  c["use_moe_router_bias"] = m.in_a_layer("exp_probs_b.bias");
  std::string sparse;
  for (Count i = 0; i < layers; ++i)
    if (m.in_layer(i, "ffn_gate_inp.weight")) sparse += fmt::format("{}{}", sparse.empty() ? "" : ",", i);
  c["moe_layers_enum"] = sparse;
}

void exaone_moe(const GgufModel& m, Value& c) {
  sliding(m, c);
  experts(m, c);
  c["num_shared_experts"] = m.count_or("expert_shared_count", 0);
  c["first_k_dense_replace"] = m.count_or("leading_dense_block_count", 0);
}

/// AFMoE: the window layers follow the family's rule.
void afmoe(const GgufModel& m, Value& c) {
  experts(m, c);
  c["num_shared_experts"] = m.count_or("expert_shared_count", 0);
  c["num_dense_layers"] = m.count_or("leading_dense_block_count", 0);
  c["sliding_window"] = m.has("attention.sliding_window") ? Value(m.count("attention.sliding_window")) : Value();
}

/// PLaMo 3: if the file states a window, all layers except every n-th have it.
void plamo3(const GgufModel& m, Value& c) {
  c["window_size"] = m.count_or("attention.sliding_window", c["max_position_embeddings"].get<Count>());
  c["sliding_window_pattern"] = m.count_or("attention.sliding_window_pattern", 8);
}

/// Muse Glimmer: the converter writes query and key norms that store a constant factor; the model's norms have no
/// weights.
void muse_glimmer(const GgufModel& m, Value& c) { sliding(m, c); }

constexpr std::array gguf_windowed_rows{
    GgufFamily{"gemma4", "gemma4_text", gemma4, true},
    GgufFamily{"gemma3n", "gemma3n_text", gemma3n, true},
    GgufFamily{"mimo2", "mimo_v2_flash", mimo2, true},
    GgufFamily{"step35", "step3p5", step35, true},
    GgufFamily{"exaone-moe", "exaone_moe", exaone_moe},
    GgufFamily{"afmoe", "afmoe", afmoe},
    GgufFamily{"plamo3", "plamo3", plamo3},
    GgufFamily{"muse-glimmer", "muse_glimmer_text", muse_glimmer},
};

}  // namespace

std::span<const GgufFamily> gguf_windowed() { return gguf_windowed_rows; }

}  // namespace llmcalc
