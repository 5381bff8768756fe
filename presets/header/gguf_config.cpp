#include "presets/header/gguf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calc/arch/layer_set.hpp"
#include "presets/header/gguf_model.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// Config keys that come from GGUF keys with the same name in every architecture.
Value common(const GgufModel& m, const GgufFamily& f) {
  const CheckpointTensor* table = m.tensor("token_embd.weight");
  if (table == nullptr || table->type->shape.size() != 2)
    m.refuse(
        "tensor \"token_embd.weight\" is missing, so this is not a language model; pass the file of the text "
        "model");
  const Count predicting = m.count_or("nextn_predict_layers", 0), blocks = m.count("block_count");
  if (predicting > 0 && predicting >= blocks)
    m.refuse(
        "the number of MTP modules is not less than the number of "
        "layers; the file is damaged");
  if (blocks - predicting > max_layers)
    m.refuse(fmt::format("expected 1 to {} layers, got {}", max_layers, blocks - predicting));
  Value c = {{"model_type", f.model_type},
             {"num_hidden_layers", blocks - predicting},
             {"hidden_size", m.count("embedding_length")},
             {"num_attention_heads", f.by_layer ? largest_of(m.counts("attention.head_count", blocks - predicting))
                                                : m.count("attention.head_count")},
             {"max_position_embeddings", m.count("context_length")},
             {"vocab_size", table->type->shape[0]},
             {"tie_word_embeddings", m.tensor("output.weight") == nullptr}};
  copy(m, c, "attention.key_length", "head_dim");
  if (!f.by_layer) {
    copy(m, c, "attention.head_count_kv", "num_key_value_heads");
    copy(m, c, "feed_forward_length", "intermediate_size");
  }
  if (predicting > 0) c["num_nextn_predict_layers"] = predicting;
  return c;
}

/// Sets the sliding window; null if the file has none.
void window(const GgufModel& m, Value& c) {
  c["sliding_window"] = m.has("attention.sliding_window") ? Value(m.count("attention.sliding_window")) : Value();
}

// ---- Keys of individual architectures.

void plain(const GgufModel&, Value&) {}

/// Llama, Mistral and Mixtral, which share one name in llama.cpp. llama.cpp does not support the windows of Mistral and
/// Mixtral.
void llama(const GgufModel& m, Value& c) {
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  c["mlp_bias"] = m.in_a_layer("ffn_up.bias");
  if (m.count_or("expert_count", 0) == 0) return;
  c["model_type"] = "mixtral";
  experts(m, c, "num_local_experts");
  c.erase("attention_bias");
  c.erase("mlp_bias");
}
void biased_attention(const GgufModel& m, Value& c) { c["attention_bias"] = m.in_a_layer("attn_q.bias"); }
void qwen_moe(const GgufModel& m, Value& c) {
  experts(m, c);
  copy(m, c, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}
/// The architecture "bitnet", for which llama.cpp computes SiLU, as in the first BitNets (src/models/bitnet.cpp).
void bitnet(const GgufModel&, Value& c) { c["hidden_act"] = "silu"; }
void fused_bias(const GgufModel& m, Value& c) { c["attention_bias"] = m.in_a_layer("attn_qkv.bias"); }
void granite_moe(const GgufModel& m, Value& c) {
  experts(m, c, "num_local_experts");
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  copy(m, c, "expert_shared_feed_forward_length", "shared_intermediate_size");
}
void gpt2(const GgufModel& m, Value& c) {
  if (const CheckpointTensor* rows = m.tensor("position_embd.weight"); rows != nullptr && rows->type->shape.size() == 2)
    c["max_position_embeddings"] = rows->type->shape[0];
}
void starcoder(const GgufModel& m, Value& c) {
  gpt2(m, c);
  c["multi_query"] = m.count_or("attention.head_count_kv", 1) == 1;
  c.erase("num_key_value_heads");
}
/// The text model of EmbeddingGemma, which has no head.
void gemma_embedding(const GgufModel& m, Value& c) {
  window(m, c);
  c["architectures"] = {"Gemma3TextModel"};
}
void gpt_neox(const GgufModel& m, Value& c) {
  c["use_parallel_residual"] = m.flag_or("use_parallel_residual", true);
  fused_bias(m, c);
}
void falcon(const GgufModel& m, Value& c) {
  const bool two_norms = m.in_a_layer("attn_norm_2.weight");
  const Count kv = m.count_or("attention.head_count_kv", 1);
  c["new_decoder_architecture"] = two_norms;
  c["num_kv_heads"] = kv;
  c["multi_query"] = kv == 1;
  c["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
}
void starcoder2(const GgufModel& m, Value& c) { c["use_bias"] = m.in_a_layer("attn_q.bias"); }
void stablelm(const GgufModel& m, Value& c) {
  c["use_qkv_bias"] = m.in_a_layer("attn_q.bias");
  c["qk_layernorm"] = m.in_a_layer("attn_q_norm.weight");
  c["use_parallel_residual"] = !m.in_a_layer("ffn_norm.weight");
}
void own_bias(const GgufModel& m, Value& c) { c["bias"] = m.in_a_layer("attn_q.bias"); }
void ernie(const GgufModel& m, Value& c) { c["use_bias"] = m.in_a_layer("attn_q.bias"); }

void deepseek_experts(const GgufModel& m, Value& c) {
  c["n_routed_experts"] = m.has("expert_count") ? Value(m.count("expert_count")) : Value();
  c["n_shared_experts"] = m.has("expert_shared_count") ? Value(m.count("expert_shared_count")) : Value();
  copy(m, c, "expert_used_count", "num_experts_per_tok");
  copy(m, c, "expert_feed_forward_length", "moe_intermediate_size");
  c["first_k_dense_replace"] = m.count_or("leading_dense_block_count", 0);
  const bool correction = m.in_a_layer("exp_probs_b.bias") || m.in_a_layer("exp_probs_b");
  c["topk_method"] = correction ? "noaux_tc" : "greedy";
}
void dots1(const GgufModel& m, Value& c) {
  biased_attention(m, c);
  deepseek_experts(m, c);
}
/// Ling 2.0: expert_shared_feed_forward_length is the width of one shared expert or of all of them.
void bailing_moe2(const GgufModel& m, Value& c) {
  experts(m, c);
  const Count shared = m.count_or("expert_shared_count", 0), width = m.count("expert_feed_forward_length");
  const Count stated = m.count_or("expert_shared_feed_forward_length", width);
  c["num_shared_experts"] = shared;
  c["moe_shared_expert_intermediate_size"] = stated == mul(shared, width) ? width : stated;
  c["first_k_dense_replace"] = m.count_or("leading_dense_block_count", 0);
  c["use_qkv_bias"] = m.in_a_layer("attn_qkv.bias") || m.in_a_layer("attn_q.bias");
  c["use_bias"] = m.in_a_layer("attn_output.bias");
  c["use_qk_norm"] = m.in_a_layer("attn_q_norm.weight");
  c["moe_router_enable_expert_bias"] = m.in_a_layer("exp_probs_b.bias");
}
void ernie_moe(const GgufModel& m, Value& c) {
  experts(m, c, "moe_num_experts");
  c["moe_num_shared_experts"] = m.count_or("expert_shared_count", 0);
  c["moe_layer_start_index"] = m.count_or("leading_dense_block_count", 0);
  c["moe_layer_interval"] = m.count_or("interleave_moe_layer_step", 1);
}
void deepseek2(const GgufModel& m, Value& c) {
  latent_attention(m, c);
  deepseek_experts(m, c);
}
void glm4_moe(const GgufModel& m, Value& c) {
  c["attention_bias"] = m.in_a_layer("attn_q.bias");
  c["use_qk_norm"] = m.in_a_layer("attn_q_norm.weight");
  deepseek_experts(m, c);
}
void gpt_oss(const GgufModel& m, Value& c) {
  experts(m, c, "num_local_experts");
  c["intermediate_size"] = m.count("expert_feed_forward_length");
  c.erase("moe_intermediate_size");
  window(m, c);
}
void olmo2(const GgufModel& m, Value& c) {
  if (!m.has("attention.sliding_window")) return;
  c["model_type"] = "olmo3";
  window(m, c);
}
void olmoe(const GgufModel& m, Value& c) {
  experts(m, c);
  c.erase("moe_intermediate_size");
}
void cohere(const GgufModel& m, Value& c) {
  c["use_qk_norm"] = m.in_a_layer("attn_q_norm.weight");
  biased_attention(m, c);
}
void llama4(const GgufModel& m, Value& c) {
  experts(m, c, "num_local_experts");
  c["intermediate_size"] = m.count("expert_feed_forward_length");
  c["intermediate_size_mlp"] = m.count("feed_forward_length");
  c["interleave_moe_layer_step"] = m.count_or("interleave_moe_layer_step", 1);
  c.erase("moe_intermediate_size");
  if (m.has("attention.chunk_size")) c["attention_chunk_size"] = m.count("attention.chunk_size");
}
void minimax_m2(const GgufModel& m, Value& c) {
  experts(m, c, "num_local_experts");
  if (m.has("expert_feed_forward_length")) c["intermediate_size"] = m.count("expert_feed_forward_length");
  c.erase("moe_intermediate_size");
}

/// github.com/ggml-org/llama.cpp, src/models/minimax-m3.cpp: every layer after the dense ones has experts and an
/// indexer. Some converters omit the indexer; their files have neither its keys nor its tensors.
void minimax_m3(const GgufModel& m, Value& c) {
  minimax_m2(m, c);
  c["dense_intermediate_size"] = m.count("feed_forward_length");
  copy(m, c, "expert_shared_count", "n_shared_experts");
  c["shared_intermediate_size"] = m.count("expert_feed_forward_length");
  c["use_qk_norm"] = m.in_a_layer("attn_q_norm.weight");
  c["use_routing_bias"] = m.in_a_layer("exp_probs_b.bias");
  Value behind_dense = Value::array();
  const Count dense = m.count_or("leading_dense_block_count", 0);
  for (Count i = 0; i < layers_of(c); ++i) behind_dense.push_back(i < dense ? 0 : 1);
  c["moe_layer_freq"] = behind_dense;
  if (!m.has("attention.indexer.head_count") && !m.in_a_layer("indexer.q_proj.weight")) return;
  c["sparse_attention_config"] = {{"sparse_num_index_heads", m.count("attention.indexer.head_count")},
                                  {"sparse_index_dim", m.count("attention.indexer.key_length")},
                                  {"sparse_topk_blocks", m.count("attention.indexer.top_k")},
                                  {"sparse_block_size", m.count("attention.indexer.block_size")},
                                  {"sparse_local_block", m.count_or("attention.indexer.local_blocks", 1)},
                                  {"sparse_attention_freq", behind_dense}};
}

void deepseek_indexer(const GgufModel& m, Value& c) {
  copy(m, c, "attention.indexer.head_count", "index_n_heads");
  copy(m, c, "attention.indexer.key_length", "index_head_dim");
  copy(m, c, "attention.indexer.top_k", "index_topk");
  if (!m.has("attention.indexer.types")) return;
  c["indexer_types"] = Value::array();
  for (const bool own : m.marks("attention.indexer.types", layers_of(c)))
    c["indexer_types"].push_back(own ? "full" : "shared");
}
void deepseek32(const GgufModel& m, Value& c) {
  deepseek2(m, c);
  deepseek_indexer(m, c);
}
/// MiniCPM3: no key states the width of value heads.
void minicpm3(const GgufModel& m, Value& c) {
  const Count heads = m.count("attention.head_count"), width = m.side("blk.0.attn_output.weight", 1);
  if (heads == 0 || width % heads != 0)
    m.refuse(
        "the attention output width is not a multiple of the number of "
        "heads; the file is damaged");
  latent_attention(m, c, width / heads);
}
void hunyuan_moe(const GgufModel& m, Value& c) {
  biased_attention(m, c);
  experts(m, c);
  copy(m, c, "expert_used_count", "moe_topk");
  copy(m, c, "expert_shared_count", "num_shared_expert");
  copy(m, c, "expert_shared_feed_forward_length", "intermediate_size");
}

constexpr std::array gguf_families{
    GgufFamily{"llama", "llama", llama},
    GgufFamily{"qwen2", "qwen2", plain},
    GgufFamily{"qwen2vl", "qwen2_vl_text", plain},
    GgufFamily{"qwen2moe", "qwen2_moe", qwen_moe},
    GgufFamily{"qwen3", "qwen3", biased_attention},
    GgufFamily{"qwen3vl", "qwen3_vl_text", biased_attention},
    GgufFamily{"qwen3moe", "qwen3_moe", qwen_moe},
    GgufFamily{"qwen3vlmoe", "qwen3_vl_moe_text", qwen_moe},
    GgufFamily{"gemma", "gemma", plain},
    GgufFamily{"gemma2", "gemma2", window},
    GgufFamily{"gemma3", "gemma3_text", window},
    GgufFamily{"phi2", "phi", plain},
    GgufFamily{"phi3", "phi3", window},
    GgufFamily{"phimoe", "phimoe", llama},
    GgufFamily{"gemma-embedding", "gemma3_text", gemma_embedding},
    GgufFamily{"baichuan", "baichuan", plain},
    GgufFamily{"xverse", "xverse", plain},
    GgufFamily{"qwen", "qwen", plain},
    GgufFamily{"starcoder", "gpt_bigcode", starcoder},
    GgufFamily{"gpt2", "gpt2", gpt2},
    GgufFamily{"gptneox", "gpt_neox", gpt_neox},
    GgufFamily{"bloom", "bloom", plain},
    GgufFamily{"falcon", "falcon", falcon},
    GgufFamily{"starcoder2", "starcoder2", starcoder2},
    GgufFamily{"stablelm", "stablelm", stablelm},
    GgufFamily{"granite", "granite", biased_attention},
    GgufFamily{"granitemoe", "granitemoe", granite_moe},
    GgufFamily{"internlm2", "internlm2", own_bias},
    GgufFamily{"orion", "orion", plain},
    GgufFamily{"smollm3", "smollm3", plain},
    GgufFamily{"arcee", "arcee", plain},
    GgufFamily{"bitnet", "bitnet", bitnet},
    GgufFamily{"bitnet-b1.58", "bitnet", plain},
    GgufFamily{"exaone", "exaone", plain},
    GgufFamily{"exaone4", "exaone4", window},
    GgufFamily{"ernie4_5", "ernie4_5", ernie},
    GgufFamily{"seed_oss", "seed_oss", biased_attention},
    GgufFamily{"hunyuan-dense", "hunyuan_v1_dense", biased_attention},
    GgufFamily{"minicpm", "minicpm", plain},
    GgufFamily{"nemotron", "nemotron", plain},
    GgufFamily{"olmo", "olmo", plain},
    GgufFamily{"olmo2", "olmo2", olmo2},
    GgufFamily{"olmoe", "olmoe", olmoe},
    GgufFamily{"command-r", "cohere", cohere},
    GgufFamily{"cohere2", "cohere2", window},
    GgufFamily{"deepseek", "deepseek", deepseek_experts},
    GgufFamily{"deepseek2", "deepseek_v3", deepseek2},
    GgufFamily{"deepseek32", "deepseek_v32", deepseek32},
    GgufFamily{"glm-dsa", "glm_moe_dsa", deepseek32},
    GgufFamily{"mistral3", "ministral3", plain},
    GgufFamily{"mistral4", "mistral4", deepseek2},
    GgufFamily{"minicpm3", "minicpm3", minicpm3},
    GgufFamily{"hunyuan-moe", "hunyuan_v1_moe", hunyuan_moe},
    GgufFamily{"apertus", "apertus", biased_attention},
    GgufFamily{"dots1", "dots1", dots1},
    GgufFamily{"bailingmoe2", "bailing_moe_v2", bailing_moe2},
    GgufFamily{"ernie4_5-moe", "ernie4_5_moe", ernie_moe},
    GgufFamily{"glm4", "glm4", biased_attention},
    GgufFamily{"glm4moe", "glm4_moe", glm4_moe},
    GgufFamily{"gpt-oss", "gpt_oss", gpt_oss},
    GgufFamily{"llama4", "llama4_text", llama4},
    GgufFamily{"minimax-m2", "minimax_m2", minimax_m2},
    GgufFamily{"minimax-m3", "minimax_m3", minimax_m3},
};

std::vector<GgufFamily> all_families() {
  std::vector<GgufFamily> all(gguf_families.begin(), gguf_families.end());
  for (const std::span<const GgufFamily> others :
       {gguf_hybrids(), gguf_windowed(), gguf_mixtures(), gguf_dense(), gguf_encoders()})
    all.insert(all.end(), others.begin(), others.end());
  return all;
}

GgufFamily gguf_family(const json::Object& keys) {
  const std::string name = keys.text("general.architecture");
  for (const GgufFamily& f : all_families())
    if (f.name == name) return f;
  const std::vector<std::string> near = closest(name, gguf_architectures());
  throw InputError(
      fmt::format("{}: unknown \"general.architecture\" {}; the closest are {}, {} and {}; put the model's "
                  "config.json in the same folder or pass an llmcalc model file",
                  keys.where(), in_quotes(name), near[0], near[1], near[2]));
}

}  // namespace

void latent_attention(const GgufModel& m, json::Value& c, Count value_width) {
  const bool absorbed = m.has("attention.key_length_mla");
  const Count rope = m.count("rope.dimension_count");
  const Count key = m.count(absorbed ? "attention.key_length_mla" : "attention.key_length");
  if (key < rope)
    m.refuse(fmt::format("the head width is {}, less than the RoPE width of {}; the file is damaged", key, rope));
  c["q_lora_rank"] = m.has("attention.q_lora_rank") ? json::Value(m.count("attention.q_lora_rank")) : json::Value();
  c["kv_lora_rank"] = m.count("attention.kv_lora_rank");
  c["qk_rope_head_dim"] = rope;
  c["qk_nope_head_dim"] = key - rope;
  c["v_head_dim"] =
      value_width > 0 ? value_width : m.count(absorbed ? "attention.value_length_mla" : "attention.value_length");
  c["num_key_value_heads"] = c["num_attention_heads"];
  c.erase("head_dim");
}

std::vector<std::string> gguf_architectures() {
  std::vector<std::string> all;
  for (const GgufFamily& f : all_families()) all.emplace_back(f.name);
  std::sort(all.begin(), all.end());
  return all;
}

json::Value gguf_config(const Checkpoint& c) {
  const json::Object keys(c.keys, fmt::format("'{}'", c.where));
  const GgufFamily f = gguf_family(keys);
  const GgufModel m(c, std::string(f.name));
  Value config = common(m, f);
  f.more(m, config);
  if (const std::string name = m.text_or("general.name", ""); !name.empty()) config["_name_or_path"] = name;
  return config;
}

}  // namespace llmcalc
