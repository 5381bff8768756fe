// GGUF files of less common dense models. Loading compares their tensors with the engine's counts by component.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A file of a model with hidden width 64, four heads and two KV heads.
GgufFile dense_file(const char* architecture, bool tied = false, bool head = true) {
  GgufFile f(architecture, 2, 64, 256, tied || !head);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("feed_forward_length", 128);
  return f;
}

/// Adds two Llama layers; `more` adds tensors to each of them.
template <typename More>
void llama_layers(GgufFile& f, const More& more) {
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    f.attention(64, 32, 64);
    f.gated_mlp("", 128);
    more();
  }
}
void qkv_biases(GgufFile& f) {
  f.norm("attn_q.bias", 64);
  f.norm("attn_k.bias", 32);
  f.norm("attn_v.bias", 32);
}

}  // namespace

TEST_CASE("all tensors of a ChatGLM GGUF file, including a fused q, k, v matrix, are counted", "[gguf]") {
  GgufFile f = dense_file("chatglm");
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    f.matrix("attn_qkv", 64 + 2 * 32, 64);
    f.norm("attn_qkv.bias", 64 + 2 * 32);
    f.matrix("attn_output", 64, 64);
    f.matrix("ffn_up", 2 * 128, 64);
    f.matrix("ffn_down", 64, 128);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.head_dim == 16);
  CHECK(card.arch.kv_heads == 2);
}

TEST_CASE("a GGUF file of MPT-7B has the preset's architecture", "[gguf]") {
  GgufFile f("mpt", 32, 4096, 50432, true);
  f.key("attention.head_count", 32).key("feed_forward_length", 16384).real("attention.max_alibi_bias", 8);
  for (Count i = 0; i < 32; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 4096);
    f.norm("ffn_norm.weight", 4096);
    f.matrix("attn_qkv", 3 * 4096, 4096);
    f.matrix("attn_output", 4096, 4096);
    f.matrix("ffn_up", 16384, 4096);
    f.matrix("ffn_down", 4096, 16384);
  }
  check(f, "mpt-7b");
}

TEST_CASE("all tensors of a Jais 2 GGUF file, including the biases of all matrices, are counted", "[gguf]") {
  GgufFile f = dense_file("jais2");
  f.prefix("");
  f.norm("output_norm.bias", 64);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm.weight", "attn_norm.bias", "ffn_norm.weight", "ffn_norm.bias"})
      f.norm(name, 64);
    f.attention(64, 32, 64);
    qkv_biases(f);
    f.norm("attn_output.bias", 64);
    f.matrix("ffn_up", 128, 64);
    f.norm("ffn_up.bias", 128);
    f.matrix("ffn_down", 64, 128);
    f.norm("ffn_down.bias", 64);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers());
}

TEST_CASE("all tensors of Dream and LLaDA GGUF files are counted, and attention is bidirectional", "[gguf]") {
  GgufFile dream = dense_file("dream");
  llama_layers(dream, [&] { qkv_biases(dream); });
  CHECK(parameters(booked(dream).arch).total == dream.numbers());
  CHECK(booked(dream).arch.bidirectional);
  GgufFile llada = dense_file("llada");
  llama_layers(llada, [] {});
  CHECK(parameters(booked(llada).arch).total == llada.numbers());
  CHECK(booked(llada).arch.bidirectional);
}

TEST_CASE("all tensors of a PLaMo GGUF file, which has one norm per layer, are counted", "[gguf]") {
  GgufFile f = dense_file("plamo");
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.attention(64, 32, 64);
    f.gated_mlp("", 128);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.kv_heads == 2);
}

TEST_CASE("all tensors of a Nemotron Super GGUF file are counted, even if layers lack attention or an MLP", "[gguf]") {
  GgufFile f("deci", 3, 64, 256, false);
  f.key("attention.head_count", List{4, 0, 4}).key("attention.head_count_kv", List{2, 0, 1});
  f.key("feed_forward_length", List{128, 256, 0});
  for (Count i = 0; i < 3; ++i) {
    f.layer(i);
    if (i != 1) {
      f.norm("attn_norm.weight", 64);
      f.attention(64, i == 0 ? 32 : 16, 64);
    }
    if (i == 2) continue;
    f.norm("ffn_norm.weight", 64);
    f.gated_mlp("", i == 0 ? 128 : 256);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.mixers.size() == 2);
}

TEST_CASE("a GGUF file with a layer that replaces attention by a matrix is rejected", "[gguf]") {
  GgufFile f("deci", 1, 64, 256, false);
  f.key("attention.head_count", List{4}).key("attention.head_count_kv", List{0}).key("feed_forward_length", List{128});
  CHECK_THROWS_WITH(f.load(), Catch::Contains("a layer has a matrix in place of attention, which is not supported"));
}

TEST_CASE("all tensors of GGUF files of PaddleOCR's and HunyuanOCR's text models are counted", "[gguf]") {
  GgufFile paddle = dense_file("paddleocr");
  paddle.key("attention.key_length", 16);
  llama_layers(paddle, [] {});
  CHECK(parameters(booked(paddle).arch).total == paddle.numbers());
  GgufFile hunyuan = dense_file("hunyuan_vl", true);
  llama_layers(hunyuan, [&] {
    hunyuan.norm("attn_q_norm.weight", 16);
    hunyuan.norm("attn_k_norm.weight", 16);
  });
  CHECK(parameters(booked(hunyuan).arch).total == hunyuan.numbers());
}

TEST_CASE("a GGUF file of a Llama embedding model gives bidirectional attention and no head", "[gguf]") {
  GgufFile f = dense_file("llama-embed", false, false);
  llama_layers(f, [] {});
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.bidirectional);
  CHECK_FALSE(card.arch.head.has_logits());
}

TEST_CASE("all tensors of an openPangu Embedded GGUF file, including attention biases, are counted", "[gguf]") {
  GgufFile f = dense_file("pangu-embedded");
  llama_layers(f, [&] {
    qkv_biases(f);
    f.norm("attn_output.bias", 64);
  });
  CHECK(parameters(booked(f).arch).total == f.numbers());
}

// The model's q and k norms have no weights: the converter stores the factor of the queries, and ones for the keys.
TEST_CASE("all tensors of a Muse Glimmer GGUF file are counted except constant q and k norm weights", "[gguf]") {
  GgufFile f = dense_file("muse-glimmer");
  f.key("attention.key_length", 16).key("attention.sliding_window", 128);
  f.key("attention.sliding_window_pattern", List{1, 0});
  llama_layers(f, [&] {
    f.matrix("attn_gate", 64, 64);
    for (const char* name : {"post_attention_norm.weight", "post_ffw_norm.weight"}) f.norm(name, 64);
    for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) f.norm(name, 16);
  });
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers() - 2 * 2 * 16);
  CHECK(card.arch.local.layers.size() == 1);
}
