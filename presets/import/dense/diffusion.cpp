// Masked diffusion models. Each pass predicts all masked tokens of a text with bidirectional attention.

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Makes attention bidirectional, and removes the head if the class has label logits.
void see_both_ways(const Config& c, Arch& a) {
  a.bidirectional = true;
  if (!names_labels(c)) return;
  a.head = {.kind = HeadKind::none};
  a.tied_head = false;
}

/// Throws InputError for options in configuration_llada.py (hub GSAI-ML/LLaDA-8B-Instruct) that no released model uses.
void refuse_other_llada(const Config& c) {
  if (c.text("block_type", "llama") != "llama") c.refuse("\"block_type\": only llama is supported");
  if (c.text("layer_norm_type", "rms") != "rms") c.refuse("\"layer_norm_type\": only rms is supported");
  for (const char* key : {"alibi", "attention_layer_norm", "include_bias", "input_emb_norm", "bias_for_layer_norm"})
    if (c.flag(key, false)) c.refuse("\"" + std::string(key) + "\" is true, which is not supported");
}

/// hub inclusionAI/LLaDA-MoE-7B-A1B-Base, modeling_lladamoe.py: bidirectional Llama, with RMSNorms of the head width on
/// q and k if qk_layernorm is set. Layers marked in moe_layer_freq have experts of width expert_intermediate_size and a
/// router without bias; all others have MLPs of width dense_intermediate_size.
Arch llada_moe(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  if (c.flag("qk_layernorm", false)) a.qk_norm = QkNorm::per_head;
  c.ignore({"moe_router_score_function"});
  const Count width = c.size({"expert_intermediate_size", "moe_intermediate_size"}, 1024);
  const Count shared = c.is_null("shared_expert_intermediate_size") ? 0 : c.count("shared_expert_intermediate_size", 0);
  if (c.has("dense_intermediate_size")) a.mlp_width = c.size("dense_intermediate_size", a.mlp_width);
  set_experts(a, {.experts = c.size("num_experts", 64),
                  .top_k = c.size("num_experts_per_tok", 8),
                  .width = width,
                  .shared_experts = shared > 0 ? 1 : 0,
                  .shared_width = shared,
                  .layers = marked_layers(c, a, "moe_layer_freq").value_or(LayerSet::all(a.layers))});
  see_both_ways(c, a);
  return a;
}

/// hub GSAI-ML/LLaDA-8B-Instruct, modeling_llada.py: bidirectional Llama with OLMo's key names; include_qkv_bias on
/// q, k, v; the token embedding and the untied head have embedding_size rows.
Arch llada(const Config& c, const Defaults& d) {
  if (c.has("num_experts")) return llada_moe(c, d);
  refuse_other_llada(c);
  Defaults own = d;
  own.context = own.mlp = 0;  // the config has other keys for these two
  Arch a = base_arch(c, own);
  a.kv_heads = c.size({"n_kv_heads", "num_key_value_heads"}, a.heads);
  a.mlp_width = c.size({"mlp_hidden_size", "intermediate_size"}, d.mlp);
  a.vocabulary = c.first_size({"embedding_size", "vocab_size"}, a.vocabulary);
  a.context = c.first_size({"max_sequence_length", "max_position_embeddings"}, d.context);
  a.activation = activation(c, {"activation_type", "hidden_act"}, "silu");
  a.qkv_bias = c.flag("include_qkv_bias", false);
  a.tied_head = c.flag("weight_tying", a.tied_head);
  c.ignore({"layer_norm_with_affine", "attention_layer_norm_with_affine", "bias_for_layer_norm", "block_group_size",
            "mlp_ratio", "precision", "rope"});
  see_both_ways(c, a);
  return a;
}

/// hub Dream-org/Dream-v0-Instruct-7B, modeling_dream.py: bidirectional Qwen 2.
Arch dream(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = true;
  c.ignore({"sliding_window", "max_window_layers", "use_mrope"});
  see_both_ways(c, a);
  return a;
}

}  // namespace

std::vector<Family> diffusion_families() {
  return {
      {"llada", llada, {32, 4096, 32, 0, 0, 12288, 126464, 4096}},
      {"llada_moe", llada_moe, {16, 2048, 16, 0, 0, 8192, 157184, 8192}},
      {"Dream", dream, {32, 4096, 32, 32, 0, 22016, 151936, 32768}},
  };
}

}  // namespace llmcalc::import
