// Families with recurrences: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// hf mamba2/modeling_mamba2.py, Mamba2Mixer.
Tensors mamba2_mixer(Count hidden, Count heads, Count width, Count groups, Count state) {
  const Count inner = heads * width, convolved = inner + 2 * groups * state;
  return {{"in_proj", {inner + convolved + heads, hidden}},
          {"conv1d.weight", {convolved, 1, 4}},
          {"conv1d.bias", {convolved}},
          {"dt_bias", {heads}},
          {"A_log", {heads}},
          {"D", {heads}},
          {"norm", {inner}},
          {"out_proj", {hidden, inner}}};
}

/// hf jamba/modeling_jamba.py, JambaMambaMixer.
Tensors jamba_mixer(Count hidden, Count inner, Count rank, Count state) {
  return {{"in_proj", {2 * inner, hidden}},  {"conv1d.weight", {inner, 1, 4}},
          {"conv1d.bias", {inner}},          {"x_proj", {rank + 2 * state, inner}},
          {"dt_proj.weight", {inner, rank}}, {"dt_proj.bias", {inner}},
          {"A_log", {inner, state}},         {"D", {inner}},
          {"out_proj", {hidden, inner}},     {"dt_layernorm", {rank}},
          {"b_layernorm", {state}},          {"c_layernorm", {state}}};
}

// mistralai/Mamba-Codestral-7B-v0.1
const std::string codestral =
    json::without_infinities(R"({"architectures": ["Mamba2ForCausalLM"], "bos_token_id": 0, "chunk_size": 256,
  "conv_kernel": 4, "eos_token_id": 0, "expand": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 4096,
  "initializer_range": 0.1, "intermediate_size": 8192, "layer_norm_epsilon": 1e-05, "model_type": "mamba2",
  "n_groups": 8, "norm_before_gate": true, "num_heads": 128, "num_hidden_layers": 64, "pad_token_id": 0,
  "rescale_prenorm_residual": false, "residual_in_fp32": true, "rms_norm": true, "state_size": 128,
  "tie_word_embeddings": false, "time_step_floor": 0.0001, "time_step_limit": [0.0, Infinity], "time_step_max": 0.1,
  "time_step_min": 0.001, "time_step_rank": 256, "torch_dtype": "bfloat16", "use_bias": false, "use_cache": true,
  "use_conv_bias": true, "vocab_size": 32768})");

// ibm-ai-platform/Bamba-9B-v1
const std::string bamba = R"({"architectures": ["BambaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "attn_layer_indices": [9, 18, 27], "attn_rotary_emb": 64, "hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 14336, "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_head": 64,
  "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_proj_bias": false,
  "max_position_embeddings": 262144, "mlp_bias": false, "model_type": "bamba", "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "num_logits_to_keep": 1, "rms_norm_eps": 1e-05,
  "rope_theta": 10000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";

// ai21labs/AI21-Jamba-1.5-Mini; the same sizes as Jamba-v0.1.
const std::string jamba = R"({"architectures": ["JambaForCausalLM"], "attention_dropout": 0.0, "attn_layer_offset": 4,
  "attn_layer_period": 8, "expert_layer_offset": 1, "expert_layer_period": 2, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "mamba_conv_bias": true,
  "mamba_d_conv": 4, "mamba_d_state": 16, "mamba_dt_rank": 256, "mamba_expand": 2, "mamba_proj_bias": false,
  "max_position_embeddings": 262144, "model_type": "jamba", "num_attention_heads": 32, "num_experts": 16,
  "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_logits_to_keep": 1,
  "output_router_logits": false, "rms_norm_eps": 1e-06, "router_aux_loss_coef": 0.001, "sliding_window": null,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "use_mamba_kernels": true,
  "vocab_size": 65536})";

// allenai/Olmo-Hybrid-7B: the sizes of its config class, without RoPE.
std::string olmo_hybrid(const std::string& more) {
  return R"({"architectures": ["OlmoHybridForCausalLM"], "attention_bias": false, "hidden_act": "silu",
    "hidden_size": 3840, "intermediate_size": 11008, "linear_allow_neg_eigval": true, "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 96, "linear_num_key_heads": 30, "linear_num_value_heads": 30,
    "linear_value_head_dim": 192, "max_position_embeddings": 65536, "model_type": "olmo_hybrid",
    "num_attention_heads": 30, "num_hidden_layers": 32, "num_key_value_heads": 30, "rms_norm_eps": 1e-06,
    "tie_word_embeddings": false, "vocab_size": 100352, )" +
         more + "}";
}

/// hf olmo_hybrid/modeling_olmo_hybrid.py, OlmoHybridGatedDeltaNet.
Tensors olmo_delta_net(Count hidden, Count heads, Count key, Count value) {
  return {{"q_proj, k_proj", {heads * key, hidden}, 2},
          {"v_proj, g_proj", {heads * value, hidden}, 2},
          {"a_proj, b_proj", {heads, hidden}, 2},
          {"o_proj", {hidden, heads * value}},
          {"q_conv1d, k_conv1d", {heads * key, 1, 4}, 2},
          {"v_conv1d", {heads * value, 1, 4}},
          {"A_log, dt_bias", {heads}, 2},
          {"o_norm", {value}}};
}

/// `small` with the keys of a pure Mamba-2 model.
std::string small_mamba2(const std::string& more) {
  return R"({"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 32, "vocab_size": 100, "num_heads": 4,
    "head_dim": 16, "n_groups": 1)" +
         (more.empty() ? "" : ", " + more) + "}";
}

}  // namespace

TEST_CASE("Codestral Mamba's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({{{"norm", {4096}}}, mamba2_mixer(4096, 128, 64, 8, 128)});
  const Arch a = check_tensors(
      codestral,
      together({in_layers(64, layer), {{"embeddings", {32768, 4096}}, {"lm_head", {32768, 4096}}, {"norm_f", {4096}}}}),
      7285403648);
  CHECK(cache_elements_per_token(a) == 0);
  CHECK(a.recurrent.chunk == 256);
}

TEST_CASE("a Mamba-2 config is rejected if its heads do not cover its channels or it has projection biases",
          "[import][family]") {
  CHECK_FALSE(arch(small_mamba2("")).tied_head);
  CHECK(arch(small_mamba2(R"("tie_word_embeddings": true)")).tied_head);
  CHECK(refusal(small_mamba2(R"("expand": 4)")) ==
        "c.json: \"num_heads\" x \"head_dim\" must be \"expand\" x \"hidden_size\", since both count the channels");
  CHECK_THAT(refusal(small_mamba2(R"("use_bias": true)")), Catch::Contains("\"use_bias\" is true"));
}

TEST_CASE("Bamba's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors each = together({gated_mlp("feed_forward", 4096, 14336), {{"norms", {4096}, 2}}});
  const Arch a = check_tensors(
      bamba,
      together({in_layers(29, mamba2_mixer(4096, 128, 64, 1, 128)),
                in_layers(3, projections(4096, 32, 8, 128)),
                in_layers(32, each),
                {{"embed_tokens", {128256, 4096}}, {"lm_head", {128256, 4096}}, {"final_layernorm", {4096}}}}),
      9780235392);
  CHECK(a.mixers[0].layers == others_of(a.layers, {9, 18, 27}));
  CHECK(cache_elements_per_token(a) == 3 * 2 * 8 * 128);
}

TEST_CASE("the width of a Mamba head is channels / heads if it is \"auto\" or absent", "[import][family]") {
  const auto width = [](const char* type, const std::string& more) {
    const Arch a = arch(small(type, R"("mamba_n_heads": 4)" + more));
    return (a.mixers.empty() ? a.recurrent : a.mixers[0].recurrent).head_dim;
  };
  for (const char* type : {"bamba", "granitemoehybrid", "falcon_h1"}) {
    CAPTURE(type);
    CHECK(width(type, R"(, "mamba_d_head": 48)") == 48);
    CHECK(width(type, R"(, "mamba_d_head": "auto", "mamba_d_ssm": null)") == 2 * 96 / 4);
    CHECK(width(type, R"(, "mamba_expand": 3, "mamba_d_ssm": null)") == 3 * 96 / 4);
  }
  CHECK(width("bamba", "") == 2 * 96 / 4);
  CHECK(width("falcon_h1", "") == 1024 / 4);  // FalconH1Config: mamba_d_ssm 1024
  CHECK(width("falcon_h1", R"(, "mamba_d_ssm": 64)") == 64 / 4);
  CHECK_THAT(refusal(small("bamba", R"("mamba_n_heads": 5)")), Catch::Contains("divide the channels"));
}

TEST_CASE("Jamba's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors experts = together({gated_mlp("experts", 4096, 14336, 16), {{"router", {16, 4096}}}});
  const Arch a = check_tensors(
      jamba,
      together({in_layers(28, jamba_mixer(4096, 8192, 256, 16)),
                in_layers(4, projections(4096, 32, 8, 128)),
                in_layers(16, experts),
                in_layers(16, gated_mlp("feed_forward", 4096, 14336)),
                in_layers(32, {{"norms", {4096}, 2}}),
                {{"embed_tokens", {65536, 4096}}, {"lm_head", {65536, 4096}}, {"final_layernorm", {4096}}}}),
      51570323328);
  CHECK(a.mixers[0].layers == others_of(a.layers, {4, 12, 20, 28}));
  CHECK(a.moe.layers == LayerSet::every(1, 2, 32));
  CHECK(a.position == Position::none);
}

TEST_CASE("Jamba with one expert is dense, and its \"auto\" time-step rank follows from the hidden size",
          "[import][family]") {
  const Arch a = arch(small("jamba", R"("num_experts": 1, "mamba_dt_rank": "auto")"));
  CHECK_FALSE(a.has_experts());
  CHECK(a.mixers[0].recurrent.rank == 6);
  CHECK(arch(small("jamba", R"("mamba_dt_rank": 5)")).mixers[0].recurrent.rank == 5);
  CHECK(refusal(small("jamba", R"("attn_layer_offset": 8)")) ==
        "c.json: \"attn_layer_offset\" must be below \"attn_layer_period\", since it counts layers of one period");
}

TEST_CASE("Olmo Hybrid has its tensors' parameter count, with three DeltaNet layers per attention layer",
          "[import][family]") {
  const Tensors attention = together({projections(3840, 30, 30, 128), {{"q_norm, k_norm", {3840}, 2}}});
  const Tensors each = together({gated_mlp("mlp", 3840, 11008), {{"norms", {3840}, 2}}});
  const Arch a =
      check_tensors(olmo_hybrid(R"("rope_parameters": null, "rope_theta": null)"),
                    together({in_layers(24, olmo_delta_net(3840, 30, 96, 192)),
                              in_layers(8, attention),
                              in_layers(32, each),
                              {{"embed_tokens", {100352, 3840}}, {"lm_head", {100352, 3840}}, {"norm", {3840}}}}),
                    7430870688);
  CHECK(a.position == Position::none);
  CHECK(a.mixers[0].layers == others_of(32, {3, 7, 11, 15, 19, 23, 27, 31}));
  CHECK(cache_elements_per_token(a) == 8 * 2 * 30 * 128);
}

TEST_CASE("Olmo Hybrid's DeltaNet sizes default to values derived from its heads", "[import][family]") {
  const Arch a = arch(small("olmo_hybrid", ""));
  CHECK(a.position == Position::rope);
  CHECK(a.mixers[0].recurrent.heads == 6);
  CHECK(a.mixers[0].recurrent.key_dim == 3 * 96 / (4 * 6));
  CHECK(a.mixers[0].recurrent.head_dim == 2 * 3 * 96 / (4 * 6));
  CHECK(arch(small("olmo_hybrid", R"("rope_parameters": {"rope_theta": null})")).position == Position::none);
  CHECK(arch(olmo_hybrid(R"("rope_parameters": {"rope_theta": 500000, "rope_type": "default"})")).position ==
        Position::rope);
}
