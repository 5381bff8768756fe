// Rare GGUF architectures without experts. Sources for the keys: github.com/ggml-org/llama.cpp, conversion/*.py and
// src/models/*.cpp.

#include <array>

#include "presets/header/gguf_model.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// ChatGLM, and GLM as in transformers. No key states the head width.
void chatglm(const GgufModel& m, Value& c) {
  const Count heads = m.count("attention.head_count"), hidden = m.count("embedding_length");
  if (!m.has("attention.key_length") && heads > 0 && hidden % heads == 0) c["head_dim"] = hidden / heads;
  c["kv_channels"] = c["head_dim"];
  c["multi_query_attention"] = true;
  c["multi_query_group_num"] = m.count_or("attention.head_count_kv", heads);
  c["ffn_hidden_size"] = m.count("feed_forward_length");
  c["add_qkv_bias"] = m.in_a_layer("attn_qkv.bias") || m.in_a_layer("attn_q.bias");
}

/// MPT: the MLP is four times as wide as the model, regardless of the key feed_forward_length.
void mpt(const GgufModel& m, Value& c) {
  c["no_bias"] = !m.in_a_layer("attn_qkv.bias");
  c["learned_pos_emb"] = m.tensor("position_embd.weight") != nullptr;
  const Count heads = m.count("attention.head_count"), kv = m.count_or("attention.head_count_kv", heads);
  c["attn_config"] = {{"attn_type", kv < heads ? "grouped_query_attention" : "multihead_attention"},
                      {"kv_n_heads", kv},
                      {"alibi", m.number_or("attention.max_alibi_bias", 0) > 0},
                      {"qk_ln", m.in_a_layer("attn_q_norm.weight")}};
  c.erase("num_key_value_heads");
  c.erase("intermediate_size");
}

void jais2(const GgufModel& m, Value& c) {
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  c["mlp_bias"] = m.in_a_layer("ffn_up.bias");
}

void own_names(const GgufModel&, Value&) {}
void llada(const GgufModel& m, Value& c) { c["include_qkv_bias"] = m.in_a_layer("attn_q.bias"); }

/// PLaMo: n_shared_head is the number of heads that share keys and values.
void plamo(const GgufModel& m, Value& c) {
  const Count heads = m.count("attention.head_count"), kv = m.count_or("attention.head_count_kv", 5);
  if (kv == 0 || heads % kv != 0)
    m.refuse(
        "the number of heads is not a multiple of the number of KV heads; the "
        "file is damaged");
  c["n_shared_head"] = heads / kv;
  c.erase("num_key_value_heads");
}

/// A layer of a pruned Llama. It has no attention if there are no heads, and no MLP if the width is 0. If it has
/// heads but no KV heads, a linear layer replaces attention.
Value deci_block(const GgufModel& m, Count heads, Count kv, Count width) {
  if (heads > 0 && kv == 0) m.refuse("a layer has a matrix in place of attention, which is not supported");
  Value attention = {{"no_op", heads == 0}}, mlp = {{"no_op", width == 0}};
  if (heads > 0) attention["n_heads_in_group"] = heads / kv;
  if (width > 0) mlp["intermediate_size"] = width;
  return {{"attention", attention}, {"ffn", mlp}};
}
void deci(const GgufModel& m, Value& c) {
  const Count layers = layers_of(c);
  const std::vector<Count> heads = m.counts("attention.head_count", layers),
                           kv = m.counts("attention.head_count_kv", layers),
                           widths = m.counts("feed_forward_length", layers);
  c["block_configs"] = Value::array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i)
    c["block_configs"].push_back(deci_block(m, heads[i], kv[i], widths[i]));
}

void ernie_bias(const GgufModel& m, Value& c) { c["use_bias"] = m.in_a_layer("attn_q.bias"); }
void hunyuan_vl(const GgufModel& m, Value& c) { c["attention_bias"] = m.in_a_layer("attn_q.bias"); }

void pangu(const GgufModel& m, Value& c) { c["bias"] = m.in_a_layer("attn_q.bias"); }

/// A bidirectional Llama without a head, like EuroBERT.
void llama_embed(const GgufModel& m, Value& c) {
  c["architectures"] = {"EuroBertModel"};
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
}

constexpr std::array gguf_dense_rows{
    GgufFamily{"chatglm", "chatglm", chatglm},
    GgufFamily{"mpt", "mpt", mpt},
    GgufFamily{"jais2", "jais2", jais2},
    GgufFamily{"dream", "Dream", own_names},
    GgufFamily{"llada", "llada", llada},
    GgufFamily{"plamo", "plamo", plamo},
    GgufFamily{"deci", "nemotron-nas", deci, true},
    GgufFamily{"paddleocr", "paddleocr_vl_text", ernie_bias},
    GgufFamily{"hunyuan_vl", "hunyuan_vl_text", hunyuan_vl},
    GgufFamily{"pangu-embedded", "PanguEmbedded", pangu},
    GgufFamily{"llama-embed", "eurobert", llama_embed},
};

}  // namespace

std::span<const GgufFamily> gguf_dense() { return gguf_dense_rows; }

}  // namespace llmcalc
