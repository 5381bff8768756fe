// GGUF files of models with recurrences: keys and tensors as llama.cpp's converters write them
// (github.com/ggml-org/llama.cpp, conversion/, gguf-py/gguf/constants.py). Loading compares their tensors with the
// engine's counts by component.

#include <functional>

#include "calc/memory.hpp"
#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Gated DeltaNet in all but every fourth layer: 16 key heads and `heads` value heads, all of width 128. `decays`:
/// names of the projections to decay and beta.
void delta_layers(GgufFile& f, Count layers, Count width, Count heads, Count queries, Count kv,
                  const std::vector<std::string>& decays, const std::function<void()>& mlp) {
  for (const auto& [name, n] : {std::pair{"ssm.conv_kernel", 4L},
                                {"ssm.state_size", 128L},
                                {"ssm.group_count", 16L},
                                {"ssm.time_step_rank", heads},
                                {"ssm.inner_size", 128 * heads},
                                {"attention.head_count", queries},
                                {"attention.head_count_kv", kv},
                                {"attention.key_length", 256L},
                                {"full_attention_interval", 4L}})
    f.key(name, n);
  const Count convolved = 2 * 16 * 128 + 128 * heads;
  for (Count i = 0; i < layers; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", width);
    f.norm("post_attention_norm.weight", width);
    if (i % 4 == 3) {
      f.attention(2 * 256 * queries, 256 * kv, 256 * queries);
      f.norm("attn_q_norm.weight", 256);
      f.norm("attn_k_norm.weight", 256);
    } else {
      f.matrix("attn_qkv", convolved, width);
      f.matrix("attn_gate", 128 * heads, width);
      for (const std::string& name : decays) f.matrix(name, 2 * heads / static_cast<Count>(decays.size()), width);
      f.add("ssm_conv1d.weight", {convolved, 4});
      f.norm("ssm_dt.bias", heads);
      f.norm("ssm_a", heads);
      f.norm("ssm_norm.weight", 128);
      f.matrix("ssm_out", width, 128 * heads);
    }
    mlp();
  }
}

}  // namespace

TEST_CASE("all tensors of a Qwen3-Next GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("qwen3next", 48, 2048, 151936, false);
  f.key("feed_forward_length", 5120).key("expert_count", 512).key("expert_used_count", 10);
  f.key("expert_feed_forward_length", 512).key("expert_shared_feed_forward_length", 512);
  delta_layers(f, 48, 2048, 32, 16, 2, {"ssm_ba"}, [&] {
    f.experts(512, 512);
    f.norm("ffn_gate_inp_shexp.weight", 2048);
    f.gated_mlp("_shexp", 512);
  });
  check(f, "qwen3-next-80b-a3b");
}

namespace {

/// Bytes that MTP modules add to a file's weights.
Count added_by_modules(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  const Bytes without = weights_bytes(card.arch, p);
  p.mtp = card.arch.mtp.modules;
  return (weights_bytes(card.arch, p) - without).value;
}

}  // namespace

// Matrices are in bf16, norms in float32. The second token embedding is a copy of the model's.
TEST_CASE("all tensors of a Qwen3.5 27B GGUF file, including its MTP module, are counted", "[gguf][hybrid]") {
  constexpr Count d = 5120;
  GgufFile f("qwen35", 65, d, 248320, false);
  f.key("feed_forward_length", 17408).key("nextn_predict_layers", 1);
  delta_layers(f, 64, d, 48, 24, 4, {"ssm_alpha", "ssm_beta"}, [&] { f.gated_mlp("", 17408); });
  const Count model = f.numbers();
  f.layer(64);
  f.attention(2 * 256 * 24, 256 * 4, 256 * 24);
  f.gated_mlp("", 17408);
  f.matrix("nextn.eh_proj", d, 2 * d);
  for (const char* name : {"attn_norm", "post_attention_norm", "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm"})
    f.norm(std::string(name) + ".weight", d);
  for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) f.norm(name, 256);
  const Count module = f.numbers() - model, norms = 5 * d + 2 * 256;
  f.matrix("nextn.embed_tokens", 248320, d);
  check(f, "qwen3.5-27b", true);
  CHECK(added_by_modules(f.load()) == 2 * module + 2 * norms);
  CHECK(2 * module == 849398784);
}

TEST_CASE("all tensors of a Falcon-Mamba 7B GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("mamba", 64, 4096, 65024, false);
  f.key("attention.head_count", 0).key("feed_forward_length", 0).key("ssm.conv_kernel", 4);
  f.key("ssm.inner_size", 8192).key("ssm.state_size", 16).key("ssm.time_step_rank", 256);
  for (Count i = 0; i < 64; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 4096);
    f.matrix("ssm_in", 2 * 8192, 4096);
    f.add("ssm_conv1d.weight", {8192, 4});
    f.norm("ssm_conv1d.bias", 8192);
    f.matrix("ssm_x", 256 + 2 * 16, 8192);
    f.matrix("ssm_dt", 8192, 256);
    f.norm("ssm_dt.bias", 8192);
    f.add("ssm_a", {8192, 16});
    f.norm("ssm_d", 8192);
    f.matrix("ssm_out", 4096, 8192);
  }
  check(f, "falcon-mamba-7b");
}

TEST_CASE("all tensors of a Granite 4.0 H GGUF file are counted", "[gguf][hybrid]") {
  const std::vector<Count> attention{5, 15, 25, 35};
  GgufFile f("granitehybrid", 40, 1536, 100352, true);
  f.key("attention.head_count", 12).key("attention.head_count_kv", heads_in(40, attention, 4));
  f.key("feed_forward_length", 512).key("expert_count", 64).key("expert_used_count", 6);
  f.key("expert_shared_feed_forward_length", 1024).key("ssm.conv_kernel", 4).key("ssm.state_size", 128);
  f.key("ssm.group_count", 1).key("ssm.inner_size", 3072).key("ssm.time_step_rank", 48);
  for (Count i = 0; i < 40; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 1536);
    f.norm("ffn_norm.weight", 1536);
    i % 10 == 5 ? f.attention(1536, 512, 1536) : f.mamba2(48, 64, 1, 128, true);
    f.experts(64, 512);
    f.gated_mlp("_shexp", 1024);
  }
  check(f, "granite-4.0-h-tiny");
}

TEST_CASE("all tensors of a Falcon-H1 GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("falcon-h1", 36, 1024, 32784, false);
  f.key("attention.head_count", 8).key("attention.head_count_kv", 2).key("attention.key_length", 64);
  f.key("feed_forward_length", 2048).key("ssm.conv_kernel", 4).key("ssm.state_size", 128);
  f.key("ssm.group_count", 1).key("ssm.inner_size", 1536).key("ssm.time_step_rank", 24);
  for (Count i = 0; i < 36; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 1024);
    f.norm("ffn_norm.weight", 1024);
    f.attention(512, 128, 512);
    f.mamba2(24, 64, 1, 128, false);
    f.gated_mlp("", 2048);
  }
  check(f, "falcon-h1-0.5b");
}

TEST_CASE("all tensors of a Nemotron 3 Ultra GGUF file, whose experts have a latent width, are counted",
          "[gguf][hybrid]") {
  const Arch a = load_model("nemotron-3-ultra-550b-a55b").arch;
  List kv, widths;
  for (Count i = 0; i < 108; ++i) {
    const bool mamba = a.mixers[0].layers.contains(i), mixture = a.moe.layers.contains(i);
    kv.push_back(mamba || mixture ? 0 : 2);
    widths.push_back(mixture ? 5120 : 0);
  }
  GgufFile f("nemotron_h_moe", 108, 8192, 131072, false);
  f.key("attention.head_count", 64).key("attention.key_length", 128).key("expert_count", 512);
  f.key("expert_used_count", 22).key("expert_feed_forward_length", 5120).key("expert_shared_count", 1);
  f.key("expert_shared_feed_forward_length", 10240).key("moe_latent_size", 2048).key("ssm.conv_kernel", 4);
  f.key("ssm.state_size", 128).key("ssm.group_count", 8).key("ssm.inner_size", 16384).key("ssm.time_step_rank", 256);
  for (Count i = 0; i < 108; ++i) {
    const auto at = static_cast<std::size_t>(i);
    f.layer(i);
    f.norm("attn_norm.weight", 8192);
    if (kv[at] > 0) f.attention(8192, 256, 8192);
    if (kv[at] == 0 && widths[at] == 0) f.mamba2(256, 64, 8, 128, true);
    if (widths[at] == 0) continue;
    f.matrix("ffn_gate_inp", 512, 8192);
    f.norm("exp_probs_b.bias", 512);
    f.matrix("ffn_latent_down", 2048, 8192);
    f.matrix("ffn_latent_up", 8192, 2048);
    f.add("ffn_up_exps.weight", {512, 5120, 2048});
    f.add("ffn_down_exps.weight", {512, 2048, 5120});
    f.projections({"ffn_up_shexp"}, 10240, "ffn_down_shexp");
  }
  f.key("attention.head_count_kv", kv).key("feed_forward_length", widths);
  check(f, "nemotron-3-ultra-550b-a55b");
}

TEST_CASE("all tensors of an LFM2 8B-A1B GGUF file are counted", "[gguf][hybrid]") {
  const std::vector<Count> attention{2, 6, 10, 14, 18, 21};
  const List kv = heads_in(24, attention, 8);
  GgufFile f("lfm2moe", 24, 2048, 65536, true);
  f.key("attention.head_count", 32).key("attention.head_count_kv", kv).key("shortconv.l_cache", 3);
  f.key("feed_forward_length", 7168).key("leading_dense_block_count", 2).key("expert_count", 32);
  f.key("expert_used_count", 4).key("expert_feed_forward_length", 1792);
  for (Count i = 0; i < 24; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 2048);
    f.norm("ffn_norm.weight", 2048);
    if (kv[static_cast<std::size_t>(i)] > 0) {
      f.attention(2048, 512, 2048);
      f.norm("attn_q_norm.weight", 64);
      f.norm("attn_k_norm.weight", 64);
    } else {
      f.matrix("shortconv.in_proj", 3 * 2048, 2048);
      f.matrix("shortconv.out_proj", 2048, 2048);
      f.add("shortconv.conv.weight", {2048, 3});
    }
    if (i < 2) {
      f.gated_mlp("", 7168);
    } else {
      f.experts(32, 1792);
      f.norm("exp_probs_b.bias", 32);
    }
  }
  check(f, "lfm2-8b-a1b");
}

TEST_CASE("all tensors of a Kimi Linear GGUF file are counted", "[gguf][hybrid]") {
  List kv(27, 0);
  for (const std::size_t i : {3, 7, 11, 15, 19, 23, 26}) kv[i] = 1;
  GgufFile f("kimi-linear", 27, 2304, 163840, false);
  f.key("attention.head_count", 32).key("attention.head_count_kv", kv).key("kda.head_dim", 128);
  f.key("ssm.conv_kernel", 4).key("attention.kv_lora_rank", 512).key("rope.dimension_count", 64);
  f.key("attention.key_length", 576).key("attention.key_length_mla", 192).key("attention.value_length_mla", 128);
  f.key("feed_forward_length", 9216).key("leading_dense_block_count", 1).key("expert_count", 256);
  f.key("expert_used_count", 8).key("expert_feed_forward_length", 1024).key("expert_shared_count", 1);
  for (Count i = 0; i < 27; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 2304);
    f.norm("ffn_norm.weight", 2304);
    if (kv[static_cast<std::size_t>(i)] > 0) {
      f.matrix("attn_q", 32 * 192, 2304);
      f.matrix("attn_kv_a_mqa", 576, 2304);
      f.norm("attn_kv_a_norm.weight", 512);
      f.add("attn_k_b.weight", {32, 512, 128});
      f.add("attn_v_b.weight", {32, 128, 512});
      f.matrix("attn_output", 2304, 4096);
    } else {
      f.attention(4096, 4096, 4096);
      for (const char* name : {"ssm_conv1d_q.weight", "ssm_conv1d_k.weight", "ssm_conv1d_v.weight"})
        f.add(name, {1, 4096, 1, 4});
      for (const char* low : {"ssm_f_a", "ssm_g_a"}) f.matrix(low, 128, 2304);
      for (const char* high : {"ssm_f_b", "ssm_g_b"}) f.matrix(high, 4096, 128);
      f.matrix("ssm_beta", 32, 2304);
      f.norm("ssm_a", 32);
      f.norm("ssm_dt.bias", 4096);
      f.norm("ssm_norm.weight", 128);
    }
    if (i == 0) {
      f.gated_mlp("", 9216);
    } else {
      f.experts(256, 1024);
      f.norm("exp_probs_b.bias", 256);
      f.gated_mlp("_shexp", 1024);
    }
  }
  check(f, "kimi-linear-48b-a3b");
}

TEST_CASE("all tensors of a Mamba-2 GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("mamba2", 2, 64, 256, false);
  f.key("attention.head_count", 0).key("feed_forward_length", 0).key("ssm.conv_kernel", 4).key("ssm.inner_size", 128);
  f.key("ssm.state_size", 16).key("ssm.time_step_rank", 8).key("ssm.group_count", 2);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.mamba2(8, 16, 2, 16, true);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.recurrent.heads == 8);
  CHECK(card.arch.recurrent.head_dim == 16);
}

TEST_CASE("all tensors of a Jamba GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("jamba", 4, 64, 256, false);
  f.key("attention.head_count", 4)
      .key("attention.head_count_kv", heads_in(4, {1, 3}, 2))
      .key("feed_forward_length", 128);
  f.key("ssm.conv_kernel", 4).key("ssm.inner_size", 128).key("ssm.state_size", 16).key("ssm.time_step_rank", 4);
  f.key("expert_count", 4).key("expert_used_count", 2);
  for (Count i = 0; i < 4; ++i) {
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    if (i % 2 == 1) {
      f.attention(64, 32, 64);
    } else {
      f.matrix("ssm_in", 256, 64);
      f.add("ssm_conv1d.weight", {128, 4});
      f.norm("ssm_conv1d.bias", 128);
      f.matrix("ssm_x", 4 + 2 * 16, 128);
      f.matrix("ssm_dt", 128, 4);
      f.norm("ssm_dt.bias", 128);
      f.norm("ssm_dt_norm.weight", 4);
      f.norm("ssm_b_norm.weight", 16);
      f.norm("ssm_c_norm.weight", 16);
      f.add("ssm_a", {128, 16});
      f.norm("ssm_d", 128);
      f.matrix("ssm_out", 64, 128);
    }
    i % 2 == 0 ? f.experts(4, 128) : f.gated_mlp("", 128);
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  LayerSet even;
  even.insert(0), even.insert(2);
  CHECK(card.arch.moe.layers == even);
  CHECK(card.arch.mixers[0].layers == even);
}

// The first layer has unused tensors for value mixing, which llama.cpp's loader requires (conversion/rwkv.py).
TEST_CASE("all tensors of an RWKV-7 GGUF file are counted", "[gguf][hybrid]") {
  GgufFile f("rwkv7", 24, 2048, 65536, false);
  f.key("attention.head_count", 0).key("feed_forward_length", 8192).key("wkv.head_size", 64);
  f.key("attention.decay_lora_rank", 96).key("attention.iclr_lora_rank", 96);
  f.key("attention.value_residual_mix_lora_rank", 64).key("attention.gate_lora_rank", 256);
  const auto norm = [&](const std::string& name) {
    f.norm(name + ".weight", 2048);
    f.norm(name + ".bias", 2048);
  };
  f.norm("output_norm.bias", 2048);
  norm("token_embd_norm");
  for (Count i = 0; i < 24; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "attn_norm_2", "time_mix_ln"}) norm(name);
    f.add("time_mix_lerp_fused.weight", {6, 1, 1, 2048});
    for (const char* name : {"k_k", "k_a", "r_k", "w0", "a0", "v0"})
      f.norm("time_mix_" + std::string(name) + ".weight", 2048);
    for (const auto& [name, rank] :
         {std::pair{"w", 96L}, std::pair{"a", 96L}, std::pair{"v", 64L}, std::pair{"g", 256L}}) {
      f.matrix("time_mix_" + std::string(name) + "1", rank, 2048);
      f.matrix("time_mix_" + std::string(name) + "2", 2048, rank);
    }
    for (const char* name : {"key", "value", "receptance", "output"})
      f.matrix("time_mix_" + std::string(name), 2048, 2048);
    f.norm("channel_mix_lerp_k.weight", 2048);
    f.projections({"channel_mix_key"}, 8192, "channel_mix_value");
  }
  check(f, "rwkv7-1.5b");
}
