// Checkpoints of single families: tensor names with small shapes, and tensors outside the model.

#include "presets/header/tensor_group.hpp"
#include "tests/presets/checkpoint_shapes.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using namespace llmcalc::test::shapes;

// ibm-granite/granite-4.0-h-1b and -micro: num_local_experts is 0, and the only MLP is called shared_mlp.
TEST_CASE("Granite's dense MLPs are read from tensors named shared_mlp", "[checkpoint][families]") {
  Shapes all = ends;
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    all = all + norms(layer, {"input_layernorm", "post_attention_layernorm"}) + attention(layer + "self_attn.") +
          under(layer, {{"shared_mlp.input_linear.weight", {2 * f, d}}, {"shared_mlp.output_linear.weight", {d, f}}});
  check_read(config("granitemoehybrid", {{"num_local_experts", 0},
                                         {"shared_intermediate_size", f},
                                         {"layer_types", {"attention", "attention"}},
                                         {"tie_word_embeddings", true}}),
             all);
}

// swiss-ai/Apertus-8B: hf activations.py, XIELUActivation registers beta and eps as buffers.
TEST_CASE("constants of Apertus's activation in a checkpoint are buffers, not parameters", "[checkpoint][families]") {
  Shapes all = untied, buffers;
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    all = all + norms(layer, {"attention_layernorm", "feedforward_layernorm"}) + attention(layer + "self_attn.") +
          under(layer, {{"self_attn.q_norm.weight", {16}},
                        {"self_attn.k_norm.weight", {16}},
                        {"mlp.up_proj.weight", {f, d}},
                        {"mlp.down_proj.weight", {d, f}},
                        {"mlp.act_fn.alpha_p", {1}},
                        {"mlp.act_fn.alpha_n", {1}}});
    buffers = buffers + under(layer, {{"mlp.act_fn.beta", {1}}, {"mlp.act_fn.eps", {1}}});
  }
  check_read(config("apertus", {{"hidden_act", "xielu"}}), all, buffers, {"buffers"});
}

// state-spaces/mamba-*-hf and mistralai/Mamba-Codestral-7B: the token embedding is called embeddings.
TEST_CASE("Mamba's token embedding is recognized in a checkpoint", "[checkpoint][families]") {
  Shapes all{{"backbone.embeddings.weight", {V, d}}, {"backbone.norm_f.weight", {d}}};
  for (const std::string layer : {"backbone.layers.0.", "backbone.layers.1."})
    all = all + norms(layer, {"norm"}) +
          under(layer + "mixer.", {{"A_log", {128, 16}},
                                   {"D", {128}},
                                   {"conv1d.weight", {128, 1, 4}},
                                   {"conv1d.bias", {128}},
                                   {"in_proj.weight", {256, d}},
                                   {"x_proj.weight", {4 + 2 * 16, 128}},
                                   {"dt_proj.weight", {128, 4}},
                                   {"dt_proj.bias", {128}},
                                   {"out_proj.weight", {d, 128}}});
  const json::Value mamba = {{"model_type", "mamba"},    {"hidden_size", d}, {"num_hidden_layers", 2},
                             {"state_size", 16},         {"conv_kernel", 4}, {"expand", 2},
                             {"time_step_rank", 4},      {"vocab_size", V},  {"tie_word_embeddings", true},
                             {"torch_dtype", "bfloat16"}};
  check_read(mamba, all);
  Shapes wrong = all;
  wrong[0].second = {V + 8, d};
  CHECK_THAT(sentence([&] { read(mamba, wrong); }), Catch::Contains("a token embedding of 256 x 64 versus"));
}

namespace {
json::Value gemma4_config() {
  return config("gemma4_text",
                {{"layer_types", {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
                 {"num_hidden_layers", 4},
                 {"num_kv_shared_layers", 2},
                 {"global_head_dim", 32},
                 {"hidden_size_per_layer_input", 8},
                 {"vocab_size_per_layer_input", V},
                 {"sliding_window", 32},
                 {"tie_word_embeddings", true},
                 {"hidden_activation", "gelu_pytorch_tanh"},
                 {"num_key_value_heads", 1}});
}
}  // namespace

// google/gemma-4-E2B: its file has unused keys and values in layers with shared ones (hf gemma4, is_kv_shared_layer).
TEST_CASE("Gemma 4's per-layer inputs are read, and its unused key and value matrices are not counted",
          "[checkpoint][families]") {
  Shapes all = ends + Shapes{{"model.embed_tokens_per_layer.weight", {V, 4 * 8}},
                             {"model.per_layer_model_projection.weight", {4 * 8, d}},
                             {"model.per_layer_projection_norm.weight", {8}}};
  Shapes unread;
  for (Count i = 0; i < 4; ++i) {
    const Count width = i % 2 == 1 ? 32 : 16;
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    all = all +
          norms(layer, {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                        "post_feedforward_layernorm", "post_per_layer_input_norm"}) +
          gated(layer + "mlp.") +
          under(layer, {{"layer_scalar", {1}},
                        {"per_layer_input_gate.weight", {8, d}},
                        {"per_layer_projection.weight", {d, 8}},
                        {"self_attn.q_proj.weight", {4 * width, d}},
                        {"self_attn.q_norm.weight", {width}},
                        {"self_attn.o_proj.weight", {d, 4 * width}}});
    const Shapes keys =
        under(layer + "self_attn.",
              {{"k_proj.weight", {width, d}}, {"v_proj.weight", {width, d}}, {"k_norm.weight", {width}}});
    (i < 2 ? all : unread) = (i < 2 ? all : unread) + keys;
  }
  check_read(gemma4_config(), all);
  check_read(gemma4_config(), all, unread, {"keys and values of layers with cross-layer sharing"});
}

// google/gemma-4-26B-A4B: experts parallel to the dense MLP, a router with a norm and a factor per expert.
TEST_CASE("Gemma 4's router norm and expert factors are read from a checkpoint", "[checkpoint][families]") {
  Shapes all = ends;
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    all = all + attention(layer + "self_attn.") + gated(layer + "mlp.") +
          norms(layer, {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                        "post_feedforward_layernorm", "post_feedforward_layernorm_1", "pre_feedforward_layernorm_2",
                        "post_feedforward_layernorm_2"}) +
          under(layer, {{"layer_scalar", {1}},
                        {"self_attn.q_norm.weight", {16}},
                        {"self_attn.k_norm.weight", {16}},
                        {"router.scale", {d}},
                        {"router.proj.weight", {4, d}},
                        {"router.per_expert_scale", {4}},
                        {"experts.gate_up_proj", {4, 2 * 32, d}},
                        {"experts.down_proj", {4, d, 32}}});
  json::Value c = gemma4_config();
  c.update({{"layer_types", {"sliding_attention", "full_attention"}},
            {"num_hidden_layers", 2},
            {"num_kv_shared_layers", 0},
            {"hidden_size_per_layer_input", 0},
            {"global_head_dim", 16},
            {"num_key_value_heads", 2},
            {"enable_moe_block", true},
            {"num_experts", 4},
            {"top_k_experts", 2},
            {"moe_intermediate_size", 32}});
  check_read(c, all);
}

// google/gemma-3n-E2B: 4 streams; layers with shared keys and values also have matrices for them.
TEST_CASE("Gemma 3n's AltUp streams and low-rank branches are read from a checkpoint", "[checkpoint][families]") {
  Shapes all = ends + Shapes{{"model.embed_tokens_per_layer.weight", {V, 2 * 8}},
                             {"model.per_layer_model_projection.weight", {2 * 8, d}},
                             {"model.per_layer_projection_norm.weight", {8}}};
  for (const std::string i : {"0", "1", "2"})
    all = all + Shapes{{"model.altup_projections." + i + ".weight", {d, d}},
                       {"model.altup_unembed_projections." + i + ".weight", {d, d}}};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."})
    all = all + gated(layer + "mlp.") +
          norms(layer, {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                        "post_feedforward_layernorm", "post_per_layer_input_norm", "altup.router_norm",
                        "laurel.post_laurel_norm"}) +
          under(layer, {{"altup.modality_router.weight", {4, d}},
                        {"altup.prediction_coefs.weight", {16, 4}},
                        {"altup.correction_coefs.weight", {4, 4}},
                        {"altup.correct_output_scale", {d}},
                        {"laurel.linear_left.weight", {8, d}},
                        {"laurel.linear_right.weight", {d, 8}},
                        {"per_layer_input_gate.weight", {8, d}},
                        {"per_layer_projection.weight", {d, 8}},
                        {"self_attn.q_proj.weight", {64, d}},
                        {"self_attn.q_norm.weight", {16}},
                        {"self_attn.o_proj.weight", {d, 64}}});
  const Shapes keys{{"k_proj.weight", {32, d}}, {"v_proj.weight", {32, d}}, {"k_norm.weight", {16}}};
  check_read(config("gemma3n_text", {{"layer_types", {"full_attention", "full_attention"}},
                                     {"num_kv_shared_layers", 1},
                                     {"hidden_size_per_layer_input", 8},
                                     {"vocab_size_per_layer_input", V},
                                     {"altup_num_inputs", 4},
                                     {"laurel_rank", 8},
                                     {"tie_word_embeddings", true}}),
             all + under("model.layers.0.self_attn.", keys), under("model.layers.1.self_attn.", keys),
             {"keys and values of layers with cross-layer sharing"});
}

// stepfun-ai/Step-3.5-Flash: experts are named "moe.gate_proj", and the correction bias "moe.router_bias".
TEST_CASE("Step 3.5's expert tensors are recognized in a checkpoint", "[checkpoint][families]") {
  const auto layer = [](const std::string& before, Count heads) {
    return norms(before, {"input_layernorm", "post_attention_layernorm"}) + attention(before + "self_attn.", heads) +
           under(before + "self_attn.",
                 {{"g_proj.weight", {heads, d}}, {"q_norm.weight", {16}}, {"k_norm.weight", {16}}});
  };
  const Shapes all = untied + layer("model.layers.0.", 4) + gated("model.layers.0.mlp.") + layer("model.layers.1.", 6) +
                     gated("model.layers.1.share_expert.", 32) +
                     under("model.layers.1.moe.", {{"gate.weight", {4, d}},
                                                   {"gate_proj.weight", {4, 32, d}},
                                                   {"up_proj.weight", {4, 32, d}},
                                                   {"down_proj.weight", {4, d, 32}}});
  const ModelCard card = read(
      config("step3p5",
             {{"num_attention_groups", 2},
              {"num_key_value_heads", nullptr},
              {"layer_types", {"full_attention", "sliding_attention"}},
              {"attention_other_setting", {{"num_attention_heads", 6}, {"num_attention_groups", 2}, {"head_dim", 16}}},
              {"sliding_window", 32},
              {"moe_num_experts", 4},
              {"moe_top_k", 2},
              {"moe_intermediate_size", 32},
              {"share_expert_dim", 32},
              {"moe_layers_enum", "1"},
              {"use_head_wise_attn_gate", true},
              {"use_moe_router_bias", true}}),
      all + Shapes{{"model.layers.1.moe.router_bias", {4}}});
  CHECK(parameters(card.arch).total == numbers(all));
  CHECK(card.caveats == std::vector<std::string>());
}

TEST_CASE("tensor names used by a single family map to their parameter groups", "[checkpoint][families]") {
  const auto group = [](const char* name) { return std::string(tensor_group(name, 0).name); };
  const auto counts = [](const char* name) { return tensor_group(name, 0).parameter; };
  // deepseek-ai/DeepSeek-V4
  CHECK(group("embed.weight") == "embedding");
  CHECK(group("hc_head_fn") == "lm_head");
  CHECK(group("layers.0.hc_attn_base") == "norm");
  CHECK(group("layers.0.attn.compressor.wgate.weight") == "attention");
  CHECK(group("layers.0.ffn.gate.tid2eid") == "buffers");
  CHECK(group("layers.0.ffn.gate.bias") == "router");
  CHECK_FALSE(counts("layers.0.ffn.gate.bias"));
  // fla-hub/rwkv7-*
  CHECK(group("model.embeddings.weight") == "embedding");
  CHECK(group("model.layers.0.attn.x_r") == "attention");
  CHECK(group("model.layers.0.attn.k_k") == "norm");
  CHECK(group("model.layers.0.ffn.key.weight") == "mlp");
  // nvidia/Nemotron-H, LiquidAI/LFM2-8B-A1B
  CHECK(group("backbone.layers.0.mixer.up_proj.weight") == "mlp");
  CHECK(group("model.layers.2.feed_forward.expert_bias") == "router");
  CHECK_FALSE(counts("model.layers.2.feed_forward.expert_bias"));
  // arcee-ai/Trinity-Mini, answerdotai/ModernBERT-base
  CHECK(group("model.layers.0.self_attn.gate_proj.weight") == "attention");
  CHECK(group("model.layers.0.mlp.gate_proj.weight") == "mlp");
  CHECK(group("decoder.bias") == "lm_head");
  CHECK(group("decoder.block.0.layer.0.SelfAttention.q.weight") == "attention");
  // A value matrix named v, and GGUF's vision encoder
  CHECK(group("encoder.block.0.layer.0.SelfAttention.v.weight") == "attention");
  CHECK(group("v.blk.0.attn_q.weight") == "vision and audio");
  CHECK(group("vpm.encoder.layers.0.self_attn.q_proj.weight") == "vision and audio");
  CHECK(group("score.weight") == "other heads");
}
