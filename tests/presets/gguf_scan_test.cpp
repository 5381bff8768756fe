// GGUF files of PLaMo 2 and 3 and RWKV-6: keys and tensors as llama.cpp's converters write them (conversion/plamo.py,
// conversion/rwkv.py).

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("all tensors of a PLaMo 2 1B GGUF file are counted", "[gguf][hybrid]") {
  constexpr Count d = 2048, inner = 4096;
  GgufFile f("plamo2", 16, d, 100000, true);
  std::vector<Count> attention;
  for (Count i = 1; i < 16; i += 2) attention.push_back(i);
  f.key("attention.head_count", heads_in(16, attention, 16)).key("attention.head_count_kv", heads_in(16, attention, 1));
  f.key("attention.key_length", 128).key("attention.value_length", 128).key("feed_forward_length", 8192);
  f.key("ssm.state_size", 64).key("ssm.conv_kernel", 4).key("ssm.time_step_rank", 32).key("ssm.inner_size", inner);
  f.key("ssm.group_count", 0);
  for (Count i = 0; i < 16; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
      f.norm(std::string(name) + ".weight", d);
    f.matrix("ffn_up", 2 * 8192, d);
    f.matrix("ffn_down", d, 8192);
    if (i % 2 == 1) {
      f.matrix("attn_qkv", (16 + 2) * 128, d);
      f.matrix("attn_output", d, 16 * 128);
      f.add("attn_q_norm.weight", {16, 128});
      f.add("attn_k_norm.weight", {1, 128});
      continue;
    }
    f.matrix("ssm_in", 2 * inner, d);
    f.add("ssm_conv1d.weight", {inner, 4});
    f.matrix("ssm_x", 128 + 2 * 64, inner);
    f.matrix("ssm_dt", 32, 128);
    for (const char* name : {"ssm_dt.bias", "ssm_a", "ssm_d"}) f.norm(name, 32);
    f.norm("ssm_dt_norm.weight", 128);
    for (const char* name : {"ssm_b_norm.weight", "ssm_c_norm.weight"}) f.norm(name, 64);
    f.matrix("ssm_out", d, inner);
  }
  const Arch a = booked(f).arch;
  CHECK(parameters(a).total == f.numbers());
  CHECK(parameters(a).total == 1291441920);
  CHECK(a.mixers[0].layers == LayerSet::every(0, 2, 16));
  CHECK(a.mixers[0].recurrent.heads == 32);
  CHECK(a.mixers[0].recurrent.rank == 128);
  CHECK((a.heads == 16 && a.kv_heads == 1 && a.head_dim == 128));
  CHECK_FALSE(a.local.reach.limited());
}

TEST_CASE("all tensors of an RWKV-6 1.6B GGUF file are counted", "[gguf][hybrid]") {
  constexpr Count d = 2048;
  GgufFile f("rwkv6", 24, d, 65536, false);
  f.key("attention.head_count", 0).key("feed_forward_length", 7168).key("wkv.head_size", 64);
  f.key("time_mix_extra_dim", 32).key("time_decay_extra_dim", 64).key("rescale_every_n_layers", 6);
  const auto norm = [&](const std::string& name) {
    f.norm(name + ".weight", d);
    f.norm(name + ".bias", d);
  };
  f.norm("output_norm.bias", d);
  norm("token_embd_norm");
  for (Count i = 0; i < 24; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "attn_norm_2", "time_mix_ln"}) norm(name);
    f.norm("time_mix_lerp_x.weight", d);
    f.add("time_mix_lerp_fused.weight", {5, 1, 1, d});
    f.matrix("time_mix_w1", 5 * 32, d);
    f.add("time_mix_w2.weight", {5, d, 32});
    f.norm("time_mix_decay.weight", d);
    f.matrix("time_mix_decay_w1", 64, d);
    f.matrix("time_mix_decay_w2", d, 64);
    f.add("time_mix_first.weight", {32, 64});
    for (const char* name : {"key", "value", "receptance", "gate", "output"})
      f.matrix("time_mix_" + std::string(name), d, d);
    for (const char* name : {"channel_mix_lerp_k.weight", "channel_mix_lerp_r.weight"}) f.norm(name, d);
    f.projections({"channel_mix_key"}, 7168, "channel_mix_value");
    f.matrix("channel_mix_receptance", d, d);
  }
  check(f, "rwkv-6-1.6b");
}

TEST_CASE("all tensors of a PLaMo 3 GGUF file are counted, and its sliding windows are read", "[gguf]") {
  constexpr Count d = 64;
  GgufFile f("plamo3", 16, d, 100, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("attention.key_length", 16);
  f.key("feed_forward_length", 96).key("attention.sliding_window", 128).key("attention.sliding_window_pattern", 8);
  for (Count i = 0; i < 16; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
      f.norm(std::string(name) + ".weight", d);
    for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) f.norm(name, 16);
    f.matrix("attn_qkv", (4 + 2 * 2) * 16, d);
    f.matrix("attn_output", d, 4 * 16);
    f.matrix("ffn_up", 2 * 96, d);
    f.matrix("ffn_down", d, 96);
  }
  const Arch a = booked(f).arch;
  CHECK(parameters(a).total == f.numbers());
  CHECK(a.local.reach.tokens == 128);
  CHECK(a.local.layers.size() == 14);
}
