// GGUF files of models with experts, including their special keys. Loading compares their tensors with the engine's
// counts by component.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

void norms_of(GgufFile& f, const std::vector<const char*>& names, Count width) {
  for (const char* name : names) f.norm(name + std::string(".weight"), width);
}

/// A file of a model with hidden width 64, four heads of width 16, and `kv` KV heads.
GgufFile file_of_experts(const char* architecture, bool tied = false, Count layers = 2, Count kv = 2) {
  GgufFile f(architecture, layers, 64, 256, tied);
  f.key("attention.head_count", 4).key("attention.head_count_kv", kv).key("attention.key_length", 16);
  f.key("feed_forward_length", 128).key("expert_count", 4).key("expert_used_count", 2);
  return f;
}

/// Hyper-connections of four streams of `width`: the mixing matrix, its biases and scales.
void streams(GgufFile& f, const std::string& name, Count mixes, Count scales, Count width) {
  f.matrix(name + "_fn", mixes, 4 * width);
  f.norm(name + "_base.weight", mixes);
  f.norm(name + "_scale.weight", scales);
}

/// Keys of `width`, pooled from `ratio` tokens; twice as wide if the pools overlap.
void compressor(GgufFile& f, const std::string& name, Count width, Count ratio, Count hidden) {
  const Count wide = ratio == 4 ? 2 * width : width;
  f.matrix(name + "_kv", wide, hidden);
  f.matrix(name + "_gate", wide, hidden);
  f.matrix(name + "_ape", ratio, wide);
  f.norm(name + "_norm.weight", width);
}

void deepseek4_layer(GgufFile& f, Count layer, Count ratio) {
  const Count d = 4096;
  f.layer(layer);
  norms_of(f, {"attn_norm", "ffn_norm"}, d);
  f.norm("attn_sinks.weight", 64);
  f.matrix("attn_q_a", 1024, d);
  f.norm("attn_q_a_norm.weight", 1024);
  f.matrix("attn_q_b", 64 * 512, 1024);
  f.matrix("attn_kv", 512, d);
  f.norm("attn_kv_a_norm.weight", 512);
  f.matrix("attn_output_a", 8 * 1024, 64 * 512 / 8);
  f.matrix("attn_output_b", d, 8 * 1024);
  streams(f, "hc_attn", 24, 3, d);
  streams(f, "hc_ffn", 24, 3, d);
  if (ratio > 0) compressor(f, "attn_compressor", 512, ratio, d);
  if (ratio == 4) {
    f.matrix("indexer.proj", 64, d);
    f.matrix("indexer.attn_q_b", 64 * 128, 1024);
    compressor(f, "indexer_compressor", 128, 4, d);
  }
  f.experts(256, 2048);
  f.gated_mlp("_shexp", 2048);
  if (layer < 3)
    f.add("ffn_gate_tid2eid.weight", {129280, 6});
  else
    f.norm("exp_probs_b.bias", 256);
}

/// One layer per entry of `heads`, all but the first with experts. The gate is per head, or per output element.
GgufFile laguna_file(const List& heads, bool per_head) {
  GgufFile f("laguna", static_cast<Count>(heads.size()), 64, 256, false);
  f.key("attention.head_count", heads).key("attention.head_count_kv", 2).key("attention.key_length", 16);
  f.key("feed_forward_length", 128).key("expert_count", 4).key("expert_used_count", 2);
  f.key("expert_feed_forward_length", 32).key("expert_shared_feed_forward_length", 32);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Count n = heads[i];
    f.layer(static_cast<Count>(i));
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    norms_of(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(16 * n, 32, 16 * n);
    f.matrix("attn_gate", per_head ? n : 16 * n, 64);
    dense_or_experts(f, i == 0);
  }
  return f;
}

}  // namespace

// The converter removes the MTP module but leaves its count and ratio.
TEST_CASE("a GGUF file of DeepSeek-V4-Flash has the preset's architecture", "[gguf]") {
  GgufFile f("deepseek4", 43, 4096, 129280, false);
  List ratios{0, 0};
  while (ratios.size() < 43) ratios.push_back(ratios.size() % 2 == 0 ? 4 : 128);
  ratios.push_back(0);
  f.key("attention.head_count", 64).key("attention.head_count_kv", 1).key("attention.key_length", 512);
  f.key("attention.value_length", 512).key("rope.dimension_count", 64).key("attention.q_lora_rank", 1024);
  f.key("attention.output_lora_rank", 1024).key("attention.output_group_count", 8).key("hyper_connection.count", 4);
  f.key("attention.compress_ratios", ratios).key("attention.sliding_window", 128).key("hash_layer_count", 3);
  f.key("attention.indexer.head_count", 64).key("attention.indexer.key_length", 128);
  f.key("attention.indexer.top_k", 512).key("expert_count", 256).key("expert_used_count", 6);
  f.key("expert_feed_forward_length", 2048).key("expert_shared_count", 1).key("nextn_predict_layers", 1);
  f.prefix("");
  streams(f, "output_hc", 4, 1, 4096);
  for (Count i = 0; i < 43; ++i) deepseek4_layer(f, i, ratios[static_cast<std::size_t>(i)]);
  check(f, "deepseek-v4-flash");
}

TEST_CASE("a GGUF file of Grok 1 has the preset's architecture, and one of Grok 2 also has a dense MLP", "[gguf]") {
  GgufFile one("grok", 64, 6144, 131072, true);
  one.key("attention.head_count", 48).key("attention.head_count_kv", 8).key("feed_forward_length", 32768);
  one.key("expert_count", 8).key("expert_used_count", 2);
  for (Count i = 0; i < 64; ++i) {
    one.layer(i);
    norms_of(one, {"attn_norm", "attn_output_norm", "ffn_norm", "layer_output_norm"}, 6144);
    one.attention(6144, 1024, 6144);
    one.experts(8, 32768);
  }
  check(one, "grok-1");
  GgufFile two = file_of_experts("grok");
  two.key("expert_feed_forward_length", 32);
  for (Count i = 0; i < 2; ++i) {
    two.layer(i);
    norms_of(two, {"attn_norm", "attn_output_norm", "ffn_norm", "post_ffw_norm"}, 64);
    two.attention(64, 32, 64);
    two.gated_mlp("", 128);
    two.experts(4, 32);
  }
  CHECK(parameters(booked(two).arch).total == two.numbers());
}

TEST_CASE("a GGUF file of DBRX has the preset's architecture", "[gguf]") {
  GgufFile f("dbrx", 40, 6144, 100352, false);
  f.key("attention.head_count", 48).key("attention.head_count_kv", 8).key("feed_forward_length", 10752);
  f.key("expert_count", 16).key("expert_used_count", 4);
  for (Count i = 0; i < 40; ++i) {
    f.layer(i);
    norms_of(f, {"attn_norm", "attn_output_norm"}, 6144);
    f.matrix("attn_qkv", 6144 + 2 * 1024, 6144);
    f.matrix("attn_output", 6144, 6144);
    f.experts(16, 10752);
  }
  check(f, "dbrx");
}

TEST_CASE("all tensors of a Ling 1.5 GGUF file are counted", "[gguf]") {
  GgufFile f = file_of_experts("bailingmoe");
  f.key("expert_feed_forward_length", 32).key("expert_shared_count", 2).key("leading_dense_block_count", 0);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    f.attention(64, 32, 64);
    f.experts(4, 32);
    f.gated_mlp("_shexp", 64);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.moe.shared_experts == 2);
  CHECK_FALSE(card.arch.moe.router_correction);
}

TEST_CASE("all tensors of a SmallThinker GGUF file are counted, and one of four layers has full attention", "[gguf]") {
  GgufFile f = file_of_experts("smallthinker", true, 8);
  f.key("expert_feed_forward_length", 32).key("attention.sliding_window", 4096);
  for (Count i = 0; i < 8; ++i) {
    f.layer(i);
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    f.attention(64, 32, 64);
    f.experts(4, 32);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.local.layers.size() == 6);
  CHECK_FALSE(card.arch.local.layers.contains(4));
}

TEST_CASE("all tensors of a Hy3 GGUF file are counted, with a separate count for its MTP module", "[gguf]") {
  GgufFile f = file_of_experts("hy_v3", false, 3);
  f.key("expert_feed_forward_length", 32).key("expert_shared_feed_forward_length", 32).key("nextn_predict_layers", 1);
  Count model = 0;
  for (Count i = 0; i < 3; ++i) {
    if (i == 2) model = f.numbers();
    f.layer(i);
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    norms_of(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 32, 64);
    dense_or_experts(f, i == 0);
  }
  f.matrix("nextn.eh_proj", 64, 128);
  norms_of(f, {"nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"}, 64);
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == model - 4);  // without the correction bias
  CHECK(mtp_parameters(card.arch).total == f.numbers() - model - 4);
  CHECK(card.arch.moe.layers.first() == 1);
}

TEST_CASE("all tensors of Laguna GGUF files are counted, with per-layer head counts and both gate kinds", "[gguf]") {
  for (const bool per_head : {true, false}) {
    GgufFile f = laguna_file(per_head ? List{4, 6, 6, 6} : List{4, 4, 4, 4}, per_head);
    if (per_head) f.key("attention.sliding_window", 512);
    const Arch a = booked(f).arch;
    CHECK(parameters(a).total == f.numbers() - 3 * 4);  // without the correction biases
    CHECK((a.attention_gate == AttentionGate::per_head) == per_head);
    CHECK_FALSE(a.local.reach.limited());
    REQUIRE(a.mixers.size() == (per_head ? 1u : 0u));
    if (!per_head) continue;
    CHECK(a.mixers[0].reach.tokens == 512);
    CHECK(a.mixers[0].layers == LayerSet::every(1, 1, 4));
  }
}

TEST_CASE("Laguna's GGUF files have sliding windows in three of four layers unless a key states otherwise", "[gguf]") {
  const auto file = [] {
    GgufFile f = laguna_file({4, 4, 4, 4, 4, 4}, true);
    f.key("attention.sliding_window", 512);
    return f;
  };
  const auto full = [](const GgufFile& f) { return LayerSet::all(6).filtered(booked(f).arch.local.layers, false); };
  GgufFile one = file(), number = file(), list = file();
  CHECK(full(one) == LayerSet::every(0, 4, 6));
  CHECK(full(number.key("attention.sliding_window_pattern", 3)) == LayerSet::every(0, 3, 6));
  CHECK(full(list.key("attention.sliding_window_pattern", List{1, 1, 0, 1, 1, 0})) == LayerSet::every(2, 3, 6));
}

TEST_CASE("all tensors of a Mellum 2 GGUF file are counted, and its list gives the sliding-window layers", "[gguf]") {
  GgufFile f = file_of_experts("mellum");
  f.key("expert_feed_forward_length", 32).key("attention.sliding_window", 1024);
  f.key("attention.sliding_window_pattern", List{1, 0});
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    norms_of(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 32, 64);
    f.experts(4, 32);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.local.layers.size() == 1);
  CHECK(card.arch.local.layers.first() == 0);
}

TEST_CASE("all tensors of a North Mini GGUF file, which has one norm per layer, are counted", "[gguf]") {
  GgufFile f = file_of_experts("cohere2moe", true);
  f.key("expert_feed_forward_length", 32).key("attention.sliding_window", 4096);
  f.key("attention.sliding_window_pattern", List{0, 1}).real("attention.layer_norm_rms_epsilon", 1e-6f);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.attention(64, 32, 64);
    if (i == 0)
      f.gated_mlp("", 128);
    else
      f.experts(4, 32);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.norm == NormKind::rms_norm);
  CHECK(card.arch.local.layers.first() == 1);
}

TEST_CASE("all tensors of GGUF files of Granite with sinks are counted, with and without experts", "[gguf]") {
  for (const bool mixture : {true, false}) {
    GgufFile f("granite-swa", 2, 64, 256, true);
    f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("feed_forward_length", 128);
    f.key("attention.sliding_window", 128).key("attention.sliding_window_pattern", List{0, 1});
    if (mixture) f.key("expert_count", 4).key("expert_used_count", 2);
    for (Count i = 0; i < 2; ++i) {
      f.layer(i);
      norms_of(f, {"attn_norm", "ffn_norm"}, 64);
      f.norm("attn_sinks.weight", 4);
      f.attention(64, 32, 64);
      if (mixture)
        f.experts(4, 128);
      else
        f.gated_mlp("", 128);
    }
    const ModelCard card = booked(f);
    CHECK(parameters(card.arch).total == f.numbers());
    CHECK(card.arch.has_experts() == mixture);
    CHECK(card.arch.local.layers.first() == 1);
  }
}

TEST_CASE("all tensors of an LLaDA-MoE GGUF file are counted, and attention is bidirectional", "[gguf]") {
  GgufFile f = file_of_experts("llada-moe", false, 2, 4);
  f.key("expert_feed_forward_length", 32);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    norms_of(f, {"attn_norm", "ffn_norm"}, 64);
    norms_of(f, {"attn_q_norm", "attn_k_norm"}, 16);
    f.attention(64, 64, 64);
    f.experts(4, 32);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.bidirectional);
}
