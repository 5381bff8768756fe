// GGUF files of models with experts or latent attention. Loading compares their tensors with the engine's counts by
// component.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

void norms(GgufFile& f, const std::vector<const char*>& names, Count width) {
  for (const char* name : names) f.norm(name + std::string(".weight"), width);
}

/// Latent attention with heads of width 16 + 8 and values of width `values`.
void latent(GgufFile& f, Count values) {
  f.matrix("attn_q_a", 32, 64);
  f.norm("attn_q_a_norm.weight", 32);
  f.matrix("attn_q_b", 4 * 24, 32);
  f.matrix("attn_kv_a_mqa", 16 + 8, 64);
  f.norm("attn_kv_a_norm.weight", 16);
  f.matrix("attn_kv_b", 4 * (16 + values), 16);
  f.matrix("attn_output", 64, 4 * values);
}
void latent_keys(GgufFile& f) {
  f.key("attention.head_count", 4).key("attention.head_count_kv", 4).key("attention.q_lora_rank", 32);
  f.key("attention.kv_lora_rank", 16).key("rope.dimension_count", 8).key("attention.key_length", 24);
}

GgufFile mixture(const char* architecture) {
  GgufFile f(architecture, 2, 64, 256, false);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("attention.key_length", 16);
  f.key("feed_forward_length", 128).key("expert_count", 4).key("expert_used_count", 2);
  return f;
}

}  // namespace

TEST_CASE("all tensors of a Hunyuan MoE GGUF file are counted", "[gguf]") {
  GgufFile f = mixture("hunyuan-moe");
  f.key("expert_feed_forward_length", 32).key("expert_shared_feed_forward_length", 128).key("expert_shared_count", 1);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms(f, {"attn_norm", "ffn_norm"}, 64);
    norms(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 32, 64);
    f.experts(4, 32);
    f.gated_mlp("_shexp", 128);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers());
}

TEST_CASE("all tensors of a K-EXAONE GGUF file are counted", "[gguf]") {
  GgufFile f = mixture("exaone-moe");
  f.key("expert_feed_forward_length", 32).key("expert_shared_count", 1).key("leading_dense_block_count", 1);
  f.key("attention.sliding_window", 32).key("attention.sliding_window_pattern", List{1, 0});
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms(f, {"attn_norm", "ffn_norm"}, 64);
    norms(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 32, 64);
    dense_or_experts(f, i == 0);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers() - 4);  // without the correction bias
  CHECK(card.arch.local.layers.first() == 0);
  CHECK(card.arch.local.layers.size() == 1);
}

TEST_CASE("all tensors of an AFMoE GGUF file are counted", "[gguf]") {
  GgufFile f = mixture("afmoe");
  f.key("expert_feed_forward_length", 32).key("expert_shared_count", 1).key("leading_dense_block_count", 1);
  f.key("attention.sliding_window", 32);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms(f, {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"}, 64);
    norms(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 32, 64);
    f.matrix("attn_gate", 64, 64);
    dense_or_experts(f, i == 0);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers() - 4);
}

TEST_CASE("a MiniCPM3 GGUF file's value width is read from its tensors", "[gguf]") {
  GgufFile f("minicpm3", 2, 64, 256, true);
  latent_keys(f);
  f.key("feed_forward_length", 128);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms(f, {"attn_norm", "ffn_norm"}, 64);
    latent(f, 12);
    f.gated_mlp("", 128);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.latent.v_dim == 12);
}

TEST_CASE("all tensors of a Mistral 4 GGUF file are counted", "[gguf]") {
  GgufFile f("mistral4", 2, 64, 256, false);
  latent_keys(f);
  f.key("attention.value_length", 16).key("feed_forward_length", 128).key("expert_count", 4);
  f.key("expert_used_count", 2).key("expert_feed_forward_length", 32).key("expert_shared_count", 1);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms(f, {"attn_norm", "ffn_norm"}, 64);
    latent(f, 16);
    f.experts(4, 32);
    f.gated_mlp("_shexp", 32);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers());
}
