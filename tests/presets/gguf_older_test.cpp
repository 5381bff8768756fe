// GGUF files of families of 2023, and of EmbeddingGemma.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Two layers of 4 heads of 16, MLPs of 96 between a norm each: Baichuan's, XVERSE's and the first Qwen's.
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

TEST_CASE("GGUF files of Baichuan, XVERSE and the first Qwen have every tensor booked", "[gguf]") {
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
