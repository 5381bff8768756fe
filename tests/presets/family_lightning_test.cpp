// Families with lightning attention: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Tensors qk_norms() { return {{"query_layernorm, key_layernorm", {128}, 2}}; }

/// Multi-head attention with width 128, a gate, and norms of q, k and the output.
Tensors lightning(Count hidden, Count heads) {
  return together({{{"query_key_value", {3 * heads * 128, hidden}},
                    {"g_proj", {heads * 128, hidden}},
                    {"dense", {hidden, heads * 128}},
                    {"g_norm", {heads * 128}}},
                   qk_norms()});
}

/// hub modeling_bailing_moe_linear_v2.py: 256 experts and a shared one in all layers except the first `dense`.
Tensors bailing_body(Count layers, Count hidden, Count dense, Count width, Count expert) {
  const Tensors sparse = together({gated_mlp("experts", hidden, expert, 257), {{"gate", {256, hidden}}}});
  return together({in_layers(layers, {{"layernorms", {hidden}, 2}}),
                   in_layers(dense, gated_mlp("mlp", hidden, width)),
                   in_layers(layers - dense, sparse),
                   {{"word_embeddings", {157184, hidden}}, {"lm_head", {157184, hidden}}, {"norm", {hidden}}}});
}

// inclusionAI/Ring-mini-linear-2.0
const std::string ring_mini = R"({"architectures": ["BailingMoeLinearV2ForCausalLM"], "attention_dropout": 0.0,
  "embedding_dropout": 0.0, "first_k_dense_replace": 1, "group_norm_size": 4, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 5120, "layer_group_size": 5, "max_position_embeddings": 131072,
  "model_type": "bailing_moe_linear", "moe_intermediate_size": 512, "moe_router_enable_expert_bias": true,
  "moe_shared_expert_intermediate_size": 512, "n_group": 8, "norm_topk_prob": true, "num_attention_heads": 16,
  "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 20, "num_key_value_heads": 4,
  "num_nextn_predict_layers": 0, "num_shared_experts": 1, "output_dropout": 0.0, "partial_rotary_factor": 0.5,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 600000, "routed_scaling_factor": 2.5,
  "score_function": "sigmoid", "tie_word_embeddings": false, "topk_group": 4, "use_bias": false, "use_cache": true,
  "use_qk_norm": true, "use_qkv_bias": false, "use_rmsnorm": true, "vocab_size": 157184})";

// inclusionAI/Ling-2.5-1T
const std::string ling = R"({"architectures": ["BailingMoeV2_5ForCausalLM"], "first_k_dense_replace": 4,
  "group_norm_size": 8, "head_dim": 128, "hidden_act": "silu", "hidden_size": 8192, "intermediate_size": 18432,
  "kv_lora_rank": 512, "layer_group_size": 8, "max_position_embeddings": 131072, "model_type": "bailing_hybrid",
  "moe_intermediate_size": 2048, "moe_router_enable_expert_bias": true, "n_group": 8, "norm_topk_prob": true,
  "num_attention_heads": 64, "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 80,
  "num_key_value_heads": 64, "num_nextn_predict_layers": 1, "num_shared_experts": 1, "partial_rotary_factor": 0.5,
  "q_lora_rank": 1536, "qk_head_dim": 192, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
  "rope_interleave": true, "rope_theta": 6000000, "routed_scaling_factor": 2.5, "score_function": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 4, "use_bias": false, "use_qk_norm": true, "use_qkv_bias": false,
  "use_rmsnorm": true, "v_head_dim": 128, "vocab_size": 157184})";

// openbmb/MiniCPM-SALA; its list of mixers is generated.
json::Value sala() {
  json::Value c = json::parse(R"j({"architectures": ["MiniCPMSALAForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "attn_use_output_gate": true, "attn_use_rope": false, "dim_model_base": 256,
    "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.1, "intermediate_size": 16384,
    "lightning_head_dim": 128, "lightning_nh": 32, "lightning_nkv": 32, "lightning_scale": "1/sqrt(d)",
    "lightning_use_rope": true, "max_position_embeddings": 524288, "model_type": "minicpm_sala",
    "mup_denominator": 32, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 2,
    "qk_norm": true, "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "scale_depth": 1.4, "scale_emb": 12,
    "tie_word_embeddings": false, "use_output_gate": true, "use_output_norm": true, "vocab_size": 73448})j",
                              "c.json");
  const LayerSet softmax = layers({0, 9, 16, 17, 22, 29, 30, 31});
  for (Count i = 0; i < 32; ++i) c["mixer_types"].push_back(softmax.contains(i) ? "minicpm4" : "lightning-attn");
  return c;
}

}  // namespace

TEST_CASE("Ring-mini-linear's parameter count matches its tensor shapes, with one softmax layer in five",
          "[import][family]") {
  const Tensors full = together({projections(2048, 16, 4, 128), qk_norms()});
  const Arch a = check_tensors(
      ring_mini,
      together({in_layers(16, lightning(2048, 16)), in_layers(4, full), bailing_body(20, 2048, 1, 5120, 512)}),
      16423443456);
  CHECK(a.linear_layers == others_of(20, {4, 9, 14, 19}));
  CHECK(cache_elements_per_token(a) == 4 * 2 * 4 * 128);
}

TEST_CASE("Ling 2.5's parameter count matches its tensor shapes, with latent attention in one of 8 layers",
          "[import][family]") {
  const Tensors latent = {{"q_a_proj", {1536, 8192}},     {"q_a_layernorm", {1536}},
                          {"q_b_proj", {64 * 192, 1536}}, {"kv_a_proj_with_mqa", {512 + 64, 8192}},
                          {"kv_a_layernorm", {512}},      {"kv_b_proj", {64 * (128 + 128), 512}},
                          {"dense", {8192, 64 * 128}}};
  const Arch a = check_tensors(
      ling,
      together({in_layers(70, lightning(8192, 64)), in_layers(10, latent), bailing_body(80, 8192, 4, 18432, 2048)}),
      1012231140864);
  CHECK(a.mixers[0].layers == LayerSet::every(7, 8, 80));
  CHECK(cache_elements_per_token(a) == 10 * (512 + 64));
  CHECK(a.mtp.mixer_of == 79);
}

TEST_CASE("layers after Ling's last complete group have softmax attention", "[import]") {
  const auto linear = [](const std::string& more) {
    return arch(small("bailing_moe_linear", R"("first_k_dense_replace": 8, "layer_group_size": )" + more))
        .linear_layers;
  };
  CHECK(linear("3") == layers({0, 1, 3, 4}));
  CHECK(linear("4") == layers({0, 1, 2, 4, 5, 6}));
  CHECK(linear("1") == LayerSet());
  CHECK_THAT(refusal(small("bailing_moe_linear", R"("layer_group_size": 4, "use_qkv_bias": true)")),
             Catch::Contains("linear attention with biases"));
  CHECK_THAT(refusal(small("bailing_moe_linear", R"("layer_group_size": 4, "num_kv_heads_for_linear_attn": 2)")),
             Catch::Contains("must equal \"num_attention_heads\""));
  CHECK_THAT(refusal(small("bailing_hybrid", R"("layer_group_size": 4, "kda_lower_bound": -5.0)")),
             Catch::Contains("are keys of Ling 3"));
}

TEST_CASE("MiniCPM-SALA's parameter count matches its tensor shapes, with gates in all layers", "[import][family]") {
  const Tensors softmax = together({projections(4096, 32, 2, 128), {{"o_gate", {4096, 4096}}}});
  const Tensors each = together({gated_mlp("mlp", 4096, 16384), {{"layernorms", {4096}, 2}}});
  const Arch a =
      check_tensors(sala().dump(),
                    together({in_layers(24, lightning(4096, 32)),
                              in_layers(8, softmax),
                              in_layers(32, each),
                              {{"embed_tokens", {73448, 4096}}, {"lm_head", {73448, 4096}}, {"norm", {4096}}}}),
                    9477203968);
  CHECK(cache_elements_per_token(a) == 8 * 2 * 2 * 128);
  json::Value sparse = sala();
  sparse["sparse_config"] = {{"dense_len", 8192}, {"topk", 64}};
  CHECK(imported(sparse.dump()).unknown_keys.empty());
  CHECK_THAT(imported(sparse.dump()).caveats.front(), Catch::Contains("\"sparse_config\""));
  json::Value without = sala();
  without["use_output_norm"] = false;
  CHECK_THAT(refusal(without.dump()), Catch::Contains("\"use_output_norm\" is not true"));
  without = sala();
  without["mixer_types"].push_back("minicpm4");
  CHECK_THAT(refusal(without.dump()), Catch::Contains("one entry per layer"));
}

TEST_CASE("q and k norms are counted in lightning-attention layers as in softmax layers", "[import]") {
  const auto vectors = [](const char* norms) {
    Arch a = arch(small("bailing_moe_linear",
                        R"("layer_group_size": 4, "first_k_dense_replace": 8, "use_qk_norm": )" + std::string(norms)));
    CHECK(parameters(a).total == textbook::parameters(a).total());
    return parameters(a).total;
  };
  CHECK(vectors("true") - vectors("false") == 8 * 2 * 128);  // in 6 lightning layers and 2 others
}
