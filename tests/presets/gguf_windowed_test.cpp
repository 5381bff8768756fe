// GGUF files of models with lists of windowed layers, and of encoders. Loading compares their tensors with the engine's
// counts by component.

#include "tests/presets/gguf_file.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const List slides_but_every_second{1, 0, 1, 0};

/// Gemma 4 with 4 layers. The last 2 share earlier keys and values; the file has K and V tensors for the first `saved`
/// layers.
GgufFile gemma4(Count saved) {
  GgufFile f("gemma4", 4, 64, 256, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", List{1, 2, 1, 2});
  f.key("feed_forward_length", List{128, 128, 256, 256}).key("attention.sliding_window", 32);
  f.key("attention.sliding_window_pattern", slides_but_every_second).key("attention.shared_kv_layers", 2);
  f.key("attention.key_length", 32).key("attention.key_length_swa", 16).key("embedding_length_per_layer_input", 8);
  f.matrix("per_layer_token_embd", 256, 4 * 8);
  f.matrix("per_layer_model_proj", 4 * 8, 64);
  f.norm("per_layer_proj_norm.weight", 8);
  f.norm("rope_freqs.weight", 16);
  for (Count i = 0; i < 4; ++i) {
    const Count width = i % 2 == 1 ? 32 : 16, kv = i % 2 == 1 ? 2 : 1;
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"})
      f.norm(name + std::string(".weight"), 64);
    f.norm("layer_output_scale.weight", 1);
    f.matrix("attn_q", 4 * width, 64);
    f.norm("attn_q_norm.weight", width);
    f.matrix("attn_output", 64, 4 * width);
    f.gated_mlp("", i < 2 ? 128 : 256);
    f.matrix("inp_gate", 8, 64);
    f.matrix("proj", 64, 8);
    if (i >= saved) continue;
    f.matrix("attn_k", kv * width, 64);
    f.norm("attn_k_norm.weight", width);
    if (i % 2 == 0) f.matrix("attn_v", kv * width, 64);
  }
  return f;
}

}  // namespace

TEST_CASE("all tensors of a Gemma 4 GGUF file are counted", "[gguf][windowed]") {
  const GgufFile f = gemma4(2);
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers() - 16);  // without rotary factors
  CHECK(card.arch.kv_heads == 1);
  CHECK(card.arch.mixers[0].key_is_value);
  CHECK(card.arch.mixers[0].kv_heads == 2);
  CHECK(card.arch.mlps[0].width == 256);
  const ModelCard all = gemma4(4).load();
  CHECK(all.arch == card.arch);
  REQUIRE(all.caveats.size() == 1);
  CHECK_THAT(all.caveats[0], Catch::StartsWith("keys and values of layers with cross-layer sharing: 5 tensors"));
}

TEST_CASE("all tensors of a Gemma 4 MoE GGUF file, including router norm and factors, are counted",
          "[gguf][windowed]") {
  GgufFile f("gemma4", 2, 64, 256, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("feed_forward_length", 128);
  f.key("attention.sliding_window", 32).key("attention.sliding_window_pattern", List{1, 0});
  f.key("attention.key_length", 16).key("attention.key_length_swa", 16).key("attention.shared_kv_layers", 0);
  f.key("expert_count", 4).key("expert_used_count", 2).key("expert_feed_forward_length", 32);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_ffw_norm_1",
                             "pre_ffw_norm_2", "post_ffw_norm_2"})
      f.norm(name + std::string(".weight"), 64);
    f.norm("layer_output_scale.weight", 1);
    f.attention(64, 32, 64);
    f.norm("attn_q_norm.weight", 16);
    f.norm("attn_k_norm.weight", 16);
    f.gated_mlp("", 128);
    f.matrix("ffn_gate_inp", 4, 64);
    f.norm("ffn_gate_inp.scale", 64);
    f.add("ffn_gate_up_exps.weight", {4, 64, 64});
    f.add("ffn_down_exps.weight", {4, 64, 32});
    f.norm("ffn_down_exps.scale", 4);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers());
}

TEST_CASE("all tensors of a Gemma 3n GGUF file are counted", "[gguf][windowed]") {
  GgufFile f("gemma3n", 2, 64, 256, true);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("attention.key_length", 16);
  f.key("feed_forward_length", List{128, 128}).key("attention.sliding_window", 32).key("altup.num_inputs", 4);
  f.key("attention.sliding_window_pattern", List{0, 0}).key("attention.shared_kv_layers", 1);
  f.key("embedding_length_per_layer_input", 8);
  f.matrix("per_layer_token_embd", 256, 2 * 8);
  f.matrix("per_layer_model_proj", 2 * 8, 64);
  f.norm("per_layer_proj_norm.weight", 8);
  f.add("altup_proj.weight", {3, 64, 64});
  f.add("altup_unembd_proj.weight", {3, 64, 64});
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm",
                             "laurel_post_norm", "altup_router_norm", "altup_correct_scale"})
      f.norm(name + std::string(".weight"), 64);
    f.matrix("altup_router", 4, 64);
    f.matrix("altup_predict_coef", 16, 4);
    f.matrix("altup_correct_coef", 4, 4);
    f.projections({"laurel_l"}, 8, "laurel_r");
    f.projections({"inp_gate"}, 8, "proj");
    f.gated_mlp("", 128);
    f.matrix("attn_q", 64, 64);
    f.norm("attn_q_norm.weight", 16);
    f.matrix("attn_output", 64, 64);
    if (i > 0) continue;
    f.matrix("attn_k", 32, 64);
    f.matrix("attn_v", 32, 64);
    f.norm("attn_k_norm.weight", 16);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers());
}

TEST_CASE("a GGUF file of MiMo-V2-Flash has a different KV head count in sliding-window layers", "[gguf][windowed]") {
  GgufFile f("mimo2", 4, 64, 256, false);
  f.key("attention.head_count", 4).key("attention.head_count_kv", List{4, 2, 4, 2}).key("feed_forward_length", 128);
  f.key("attention.sliding_window", 32).key("attention.sliding_window_pattern", slides_but_every_second);
  f.key("attention.key_length", 24).key("attention.value_length", 16);
  f.key("expert_count", 4).key("expert_used_count", 2).key("expert_feed_forward_length", 32);
  for (Count i = 0; i < 4; ++i) {
    const Count kv = i % 2 == 1 ? 2 : 4;
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    f.matrix("attn_q", 4 * 24, 64);
    f.matrix("attn_k", kv * 24, 64);
    f.matrix("attn_v", kv * 16, 64);
    f.matrix("attn_output", 64, 4 * 16);
    if (i % 2 == 0) f.norm("attn_sinks.weight", 4);
    if (i == 0) {
      f.gated_mlp("", 128);
      continue;
    }
    f.experts(4, 32);
    f.norm("exp_probs_b.bias", 4);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers() - 3 * 4);  // without the correction biases
}

TEST_CASE("a GGUF file of Step 3.5 has a different number of heads in sliding-window layers", "[gguf][windowed]") {
  GgufFile f("step35", 2, 64, 256, false);
  f.key("attention.head_count", List{4, 6}).key("attention.head_count_kv", List{2, 2}).key("feed_forward_length", 128);
  f.key("attention.sliding_window", 32).key("attention.sliding_window_pattern", List{0, 1});
  f.key("attention.key_length", 16).key("expert_count", 4).key("expert_used_count", 2);
  f.key("expert_feed_forward_length", 32).key("expert_shared_feed_forward_length", 32);
  for (Count i = 0; i < 2; ++i) {
    const Count heads = i == 0 ? 4 : 6;
    f.layer(i);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    f.attention(heads * 16, 32, heads * 16);
    f.norm("attn_q_norm.weight", 16);
    f.norm("attn_k_norm.weight", 16);
    f.matrix("attn_gate", heads, 64);
    dense_or_experts(f, i == 0);
  }
  CHECK(parameters(booked(f).arch).total == f.numbers() - 4);
}

TEST_CASE("a GGUF file of Apertus stores its activation's parameters as metadata keys", "[gguf][windowed]") {
  GgufFile f("apertus", 2, 64, 256, false);
  f.key("attention.head_count", 4).key("attention.head_count_kv", 2).key("feed_forward_length", 128);
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_norm", "ffn_norm"}) f.norm(name + std::string(".weight"), 64);
    for (const char* name : {"attn_q_norm", "attn_k_norm"}) f.norm(name + std::string(".weight"), 16);
    f.attention(64, 32, 64);
    f.projections({"ffn_up"}, 128, "ffn_down");
  }
  CHECK(parameters(booked(f).arch).total == f.numbers() + 2 * 2);
}

namespace {
void t5_stack(GgufFile& f, const std::string& stack) {
  f.prefix(stack);
  f.norm("output_norm.weight", 64);
  for (Count i = 0; i < 2; ++i) {
    f.prefix(stack + "blk." + std::to_string(i) + ".");
    if (i == 0) f.matrix("attn_rel_b", 32, 4);
    f.norm("attn_norm.weight", 64);
    f.norm("ffn_norm.weight", 64);
    f.attention(64, 64, 64);
    f.gated_mlp("", 128);
    if (stack == "enc.") continue;
    f.norm("cross_attn_norm.weight", 64);
    f.projections({"cross_attn_q", "cross_attn_k", "cross_attn_v"}, 64, "cross_attn_output");
  }
}
}  // namespace

TEST_CASE("all tensors of T5 GGUF files are counted, with or without a decoder", "[gguf][windowed]") {
  for (const bool decodes : {true, false}) {
    GgufFile f(decodes ? "t5" : "t5encoder", 2, 64, 256, !decodes, false);
    f.key("attention.head_count", 4).key("attention.key_length", 16).key("feed_forward_length", 128);
    f.key("attention.relative_buckets_count", 32);
    t5_stack(f, "enc.");
    if (decodes) t5_stack(f, "dec.");
    const ModelCard card = booked(f);
    CHECK(parameters(card.arch).total == f.numbers());
    CHECK(card.arch.layers == (decodes ? 4 : 2));
    CHECK(card.arch.is_encoder() != decodes);
  }
}

TEST_CASE("a GGUF file of BERT has no pooler", "[gguf][windowed]") {
  GgufFile f("bert", 2, 64, 256, true, false);
  f.key("attention.head_count", 4).key("feed_forward_length", 128);
  f.matrix("position_embd", 128, 64);
  f.matrix("token_types", 2, 64);
  const auto biased = [&](const std::string& name, Count rows, Count columns) {
    f.matrix(name, rows, columns);
    f.norm(name + ".bias", rows);
  };
  const auto norm = [&](const std::string& name) {
    f.norm(name + ".weight", 64);
    f.norm(name + ".bias", 64);
  };
  norm("token_embd_norm");
  for (Count i = 0; i < 2; ++i) {
    f.layer(i);
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) biased(name, 64, 64);
    norm("attn_output_norm");
    biased("ffn_up", 128, 64);
    biased("ffn_down", 64, 128);
    norm("layer_output_norm");
  }
  const ModelCard card = booked(f);
  CHECK(parameters(card.arch).total == f.numbers());
  CHECK(card.arch.head == ModelHead{.kind = HeadKind::none});
}
