// GGUF files of 2023 families and of encoders.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Two layers with 4 heads of width 16, an MLP of width 96 and two norms each: Baichuan, XVERSE and the first Qwen.
GgufFile two_layers(const char* architecture, Count stated_width, bool fused) {
  GgufFile f(architecture, 2, 64, 256, false);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 4).key("attention.key_length", 16);
  f.key("feed_forward_length", stated_width);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm.weight", "ffn_norm.weight"}) f.norm(name, 64);
    if (fused) {
      f.matrix("attn_qkv", 3 * 64, 64);
      f.norm("attn_qkv.bias", 3 * 64);
      f.matrix("attn_output", 64, 64);
    } else {
      f.attention(64, 64, 64);
    }
    f.gated_mlp("", 96);
  }
  return f;
}

}  // namespace

TEST_CASE("all tensors of a NomicBERT GGUF file are counted", "[gguf]") {
  GgufFile f("nomic-bert", 2, 64, 100, true, false);
  f.key("attention.head_count", 4).key("feed_forward_length", 96);
  f.matrix("token_types", 2, 64);
  for (const char* norm : {"token_embd_norm.weight", "token_embd_norm.bias"}) f.norm(norm, 64);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.matrix("attn_qkv", 3 * 64, 64);
    f.matrix("attn_output", 64, 64);
    f.gated_mlp("", 96);
    for (const char* name : {"attn_output_norm", "layer_output_norm"})
      for (const char* end : {".weight", ".bias"}) f.norm(std::string(name) + end, 64);
  }
  const Arch a = booked(f).arch;
  CHECK(a.is_encoder());
  CHECK(a.activation == Activation::silu);
  CHECK(parameters(a).total == f.numbers());
}

TEST_CASE("all tensors of a ModernBERT GGUF file, including a fused gate and up matrix, are counted", "[gguf]") {
  GgufFile f("modern-bert", 4, 64, 100, true);
  f.key("attention.head_count", 4).key("feed_forward_length", 96);
  f.key("attention.sliding_window", 128).key("attention.sliding_window_pattern", 3);
  f.norm("token_embd_norm.weight", 64);
  for (Count i = 0; i < 4; ++i) {
    f.layer(i);
    f.matrix("attn_qkv", 3 * 64, 64);
    f.matrix("attn_output", 64, 64);
    f.matrix("ffn_up", 2 * 96, 64);
    f.matrix("ffn_down", 64, 96);
    if (i > 0) f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
  }
  const Arch a = booked(f).arch;
  CHECK(a.local.reach.tokens == 129);
  CHECK(a.local.layers.size() == 2);  // layers 1 and 2 of 4
  CHECK(parameters(a).total == f.numbers());
}

TEST_CASE("all tensors of a EuroBERT GGUF file are counted", "[gguf]") {
  GgufFile f("eurobert", 2, 64, 100, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("feed_forward_length", 96);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.attention(64, 32, 64);
    f.gated_mlp("", 96);
    for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) f.norm(norm, 64);
  }
  const Arch a = booked(f).arch;
  CHECK(a.is_encoder());
  CHECK(parameters(a).total == f.numbers());
}

// github.com/ggml-org/llama.cpp, "bitnet"; the copy in github.com/microsoft/BitNet writes "bitnet-b1.58".
TEST_CASE("all tensors of a BitNet GGUF file, including norms before output projections, are counted", "[gguf]") {
  for (const char* name : {"bitnet", "bitnet-b1.58"}) {
    GgufFile f(name, 2, 64, 100, true);
    f.key("attention.head_count", 8).key("attention.head_count_kv", 2).key("feed_forward_length", 96);
    for (Count i = 0; i < 2; ++i) {
      f.layer(i);
      f.attention(64, 16, 64);
      f.gated_mlp("", 96);
      for (const char* norm : {"attn_norm.weight", "ffn_norm.weight", "attn_sub_norm.weight"}) f.norm(norm, 64);
      f.norm("ffn_sub_norm.weight", 96);
    }
    const Arch a = booked(f).arch;
    CHECK(a.sub_norms);
    CHECK(a.activation == (std::string(name) == "bitnet" ? Activation::silu : Activation::relu_squared));
    CHECK(parameters(a).total == f.numbers());
  }
}

TEST_CASE("all tensors of Baichuan, XVERSE and first-generation Qwen GGUF files are counted", "[gguf]") {
  for (const GgufFile& f :
       {two_layers("baichuan", 96, false), two_layers("xverse", 96, false), two_layers("qwen", 192, true)}) {
    const ModelCard card = booked(f);
    CHECK(parameters(card.arch).total == f.numbers());
    CHECK(card.arch.mlp_width == 96);
  }
}

TEST_CASE("a GGUF file of StarCoder has one KV head and learned positions", "[gguf]") {
  GgufFile f("starcoder", 2, 64, 256, true);
  f.norm("output_norm.bias", 64);
  f.matrix("position_embd", 128, 64);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 1).key("feed_forward_length", 256);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm.weight", "attn_norm.bias", "ffn_norm.weight", "ffn_norm.bias"})
      f.norm(name, 64);
    f.matrix("attn_qkv", 64 + 2 * 16, 64);
    f.norm("attn_qkv.bias", 64 + 2 * 16);
    f.matrix("attn_output", 64, 64);
    f.norm("attn_output.bias", 64);
    f.projections({"ffn_up"}, 256, "ffn_down");
    f.norm("ffn_up.bias", 256);
    f.norm("ffn_down.bias", 64);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.kv_heads == 1);
  CHECK(card.arch.position_rows == 128);
}

TEST_CASE("a GGUF file of EmbeddingGemma has no head", "[gguf]") {
  GgufFile f("gemma-embedding", 6, 64, 256, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 1).key("attention.key_length", 16);
  f.key("feed_forward_length", 96).key("attention.sliding_window", 32);
  for (Count i = 0; i < 6; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
      f.norm(name + std::string(".weight"), 64);
    f.attention(64, 16, 64);
    for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) f.norm(name, 16);
    f.gated_mlp("", 96);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.head.kind == HeadKind::none);
  CHECK(card.arch.local.reach.tokens == 32);
}
