// Families with experts: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Token embedding, untied head and final norm.
Tensors ends(Count vocabulary, Count hidden) {
  return {{"embed_tokens", {vocabulary, hidden}}, {"lm_head", {vocabulary, hidden}}, {"norm", {hidden}}};
}

/// Routed experts with their router, and `shared` experts of the same width fused into one MLP.
Tensors mixture(Count hidden, Count experts, Count width, Count shared) {
  return together({gated_mlp("experts", hidden, width, experts),
                   gated_mlp("shared_experts", hidden, shared * width),
                   {{"gate", {experts, hidden}}}});
}

Tensors qk_norms(Count head_dim) { return {{"q_norm", {head_dim}}, {"k_norm", {head_dim}}}; }

// tencent/Hunyuan-A13B-Instruct
std::string hunyuan() {
  std::string lists;
  for (const auto& [key, value] :
       {std::pair{"moe_intermediate_size", "3072"}, std::pair{"moe_topk", "8"}, std::pair{"num_shared_expert", "1"}}) {
    lists += std::string(", \"") + key + "\": [";
    for (int i = 0; i < 32; ++i) lists += std::string(i == 0 ? "" : ", ") + value;
    lists += "]";
  }
  return R"({"architectures": ["HunYuanMoEV1ForCausalLM"], "attention_bias": false, "attention_dropout": 0.1,
    "attention_head_dim": 128, "cla_share_factor": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 4096,
    "intermediate_size": 3072, "max_position_embeddings": 32768, "mlp_bias": false, "model_type": "hunyuan_v1_moe",
    "moe_drop_tokens": false, "moe_layer_num_skipped": 0, "moe_random_routing_dropped_token": false,
    "norm_type": "rms", "num_attention_heads": 32, "num_experts": 64, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "use_cla": false, "use_mixed_mlp_moe": true, "use_qk_norm": true,
    "vocab_size": 128167)" +
         lists + "}";
}

// tencent/Tencent-Hunyuan-Large, Hunyuan-A52B-Instruct
const std::string hunyuan_large = R"({"architectures": ["HunYuanForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.1, "cla_share_factor": 2, "hidden_act": "silu", "hidden_size": 6400,
  "intermediate_size": 18304, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "hunyuan",
  "moe_topk": 1, "norm_type": "rms", "num_attention_heads": 80, "num_experts": 16, "num_hidden_layers": 64,
  "num_key_value_heads": 8, "num_shared_expert": 1, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"alpha": 1000.0, "factor": 1.0, "type": "dynamic"}, "rope_theta": 10000.0,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cla": true, "use_mixed_mlp_moe": true,
  "use_qk_norm": true, "vocab_size": 129024})";

// stepfun-ai/step3, the text model
const std::string step3 = R"({"architectures": ["Step3VLForConditionalGeneration"], "model_type": "step3_vl",
  "text_config": {"architectures": ["Step3TextForCausalLM"], "head_dim": 256, "hidden_size": 7168,
  "intermediate_size": 18432, "max_position_embedding": 65536, "max_seq_len": 65536, "moe_intermediate_size": 5120,
  "moe_layers_enum": "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59",
  "moe_num_experts": 48, "moe_top_k": 3, "norm_expert_weight": false, "num_attention_groups": 1,
  "num_attention_heads": 64, "num_hidden_layers": 61, "rms_norm_eps": 1e-05, "rope_theta": 500000,
  "share_expert_dim": 5120, "share_q_dim": 2048, "tie_word_embeddings": false, "vocab_size": 128815}})";

// LGAI-EXAONE/K-EXAONE-236B-A23B; its per-layer lists are generated.
json::Value exaone() {
  json::Value c = json::parse(R"({"architectures": ["ExaoneMoEForCausalLM"], "attention_dropout": 0.0,
    "first_last_k_dense_replace": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 6144,
    "intermediate_size": 18432, "max_position_embeddings": 262144, "model_type": "exaone_moe",
    "moe_intermediate_size": 2048, "n_group": 1, "norm_topk_prob": true, "num_attention_heads": 64,
    "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 8,
    "num_nextn_predict_layers": 1, "num_shared_experts": 1, "rms_norm_eps": 1e-05, "rope_theta": 1000000,
    "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "sliding_window": 128,
    "sliding_window_pattern": "LLLG", "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc",
    "vocab_size": 153600})",
                              "c.json");
  for (int i = 0; i < 48; ++i) {
    c["is_moe_layer"].push_back(i > 0);
    c["layer_types"].push_back(i % 4 == 3 ? "full_attention" : "sliding_attention");
  }
  return c;
}

// upstage/Solar-Open-100B
const std::string solar = R"({"model_type": "solar_open", "partial_rotary_factor": 1.0, "hidden_size": 4096,
  "num_hidden_layers": 48, "num_attention_heads": 64, "head_dim": 128, "num_key_value_heads": 8,
  "vocab_size": 196608, "intermediate_size": 10240, "moe_intermediate_size": 1280, "rms_norm_eps": 1e-05,
  "rope_theta": 1000000, "max_position_embeddings": 131072, "n_routed_experts": 128, "n_shared_experts": 1,
  "norm_topk_prob": true, "routed_scaling_factor": 1.0, "num_experts_per_tok": 8, "tie_word_embeddings": false,
  "first_k_dense_replace": 0, "rope_scaling": {"type": "yarn", "factor": 2.0,
  "original_max_position_embeddings": 65536}})";

// arcee-ai/Trinity-Mini
const std::string trinity = R"({"architectures": ["AfmoeForCausalLM"], "attention_dropout": 0.0,
  "global_attn_every_n_layers": 4, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
  "intermediate_size": 6144, "max_position_embeddings": 131072, "model_type": "afmoe", "moe_intermediate_size": 1024,
  "mup_enabled": true, "n_group": 1, "num_attention_heads": 32, "num_dense_layers": 2, "num_expert_groups": 1,
  "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 32, "num_key_value_heads": 4,
  "num_limited_groups": 1, "num_shared_experts": 1, "rms_norm_eps": 1e-05, "rope_theta": 10000, "route_norm": true,
  "route_scale": 2.826, "score_func": "sigmoid", "sliding_window": 2048, "tie_word_embeddings": false,
  "topk_group": 1, "use_grouped_mm": true, "vocab_size": 200192})";

// allenai/FlexOlmo-7x7B-1T
const std::string flex_olmo = R"({"architectures": ["FlexOlmoForCausalLM"], "attention_bias": false,
  "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 4096,
  "model_type": "flex_olmo", "norm_topk_prob": false, "num_attention_heads": 32, "num_experts": 7,
  "num_experts_per_tok": 5, "num_hidden_layers": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06,
  "rope_theta": 500000, "tie_word_embeddings": false, "vocab_size": 100352})";

// mistralai/Mistral-Small-4-119B-2603
const std::string mistral4 = R"({"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
  "text_config": {"attention_bias": false, "first_k_dense_replace": 0, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 4096, "intermediate_size": 12288, "kv_lora_rank": 256, "max_position_embeddings": 1048576,
  "model_type": "mistral4", "moe_intermediate_size": 2048, "n_group": 1, "n_routed_experts": 128,
  "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 32, "num_experts_per_tok": 4,
  "num_hidden_layers": 36, "num_key_value_heads": 32, "q_lora_rank": 1024, "qk_nope_head_dim": 64,
  "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_interleave": true, "routed_scaling_factor": 1.0,
  "tie_word_embeddings": false, "topk_group": 1, "v_head_dim": 128, "vocab_size": 131072},
  "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24}})";

// xai-org/grok-2
std::string grok_2(const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "attn_logit_softcapping": 30.0, "attn_temperature_len": 1024,
    "embedding_multiplier_scale": 90.50966799187809, "final_logit_softcapping": 50, "global_attn_every_n": 1,
    "head_dim": 128, "hidden_size": 8192, "intermediate_size": 32768, "max_position_embeddings": 131072,
    "model_type": "git", "moe_intermediate_size": 16384, "num_attention_heads": 64, "num_experts_per_tok": 2,
    "num_hidden_layers": 64, "num_key_value_heads": 8, "num_local_experts": 8, "output_multiplier_scale": 0.5,
    "residual_moe": true, "rms_norm_eps": 1e-05, "rope_theta": 208533496, "router_logit_softcapping": 30.0,
    "sliding_window_size": -1, "torch_dtype": "bfloat16", "vocab_size": 131072})";
}

// PowerInfer/SmallThinker-21BA3B-Instruct; its per-layer lists are generated.
json::Value smallthinker() {
  json::Value c = json::parse(R"({"architectures": ["SmallThinkerForCausalLM"], "attention_dropout": 0.0,
    "head_dim": 128, "hidden_size": 2560, "initializer_range": 0.02, "max_position_embeddings": 16384,
    "model_type": "smallthinker", "moe_ffn_hidden_size": 768, "moe_num_active_primary_experts": 6,
    "moe_num_primary_experts": 64, "moe_primary_router_apply_softmax": false, "norm_topk_prob": true,
    "num_attention_heads": 28, "num_hidden_layers": 52, "num_key_value_heads": 4, "rms_norm_eps": 1e-06,
    "rope_scaling": null, "rope_theta": 1500000.0, "sliding_window_size": 4096, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "vocab_size": 151936})",
                              "c.json");
  for (int i = 0; i < 52; ++i) {
    c["rope_layout"].push_back(i % 4 == 0 ? 0 : 1);
    c["sliding_window_layout"].push_back(i % 4 == 0 ? 0 : 1);
  }
  return c;
}

// XiaomiMiMo/MiMo-V2.5-Pro; the test chooses its layers with windows.
json::Value mimo_v2() {
  json::Value c = json::parse(R"({"architectures": ["MiMoV2ForCausalLM"], "add_full_attention_sink_bias": false,
    "add_swa_attention_sink_bias": true, "attention_bias": false, "attention_projection_layout": "fused_qkv",
    "attention_value_scale": 0.612, "head_dim": 192, "hidden_act": "silu", "hidden_size": 6144,
    "intermediate_size": 16384, "layernorm_epsilon": 1e-05, "max_position_embeddings": 1048576,
    "model_type": "mimo_v2", "moe_intermediate_size": 2048, "n_group": 1, "n_routed_experts": 384,
    "n_shared_experts": null, "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 70, "num_key_value_heads": 8, "partial_rotary_factor": 0.334, "rope_theta": 10000000,
    "routed_scaling_factor": null, "scoring_func": "sigmoid", "sliding_window": 128, "sliding_window_size": 128,
    "swa_head_dim": 192, "swa_num_attention_heads": 128, "swa_num_key_value_heads": 8, "swa_rope_theta": 10000,
    "swa_v_head_dim": 128, "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc",
    "v_head_dim": 128, "vocab_size": 152576})",
                              "c.json");
  for (int i = 0; i < 70; ++i) {
    c["hybrid_layer_pattern"].push_back(i % 7 == 0 ? 0 : 1);
    c["moe_layer_freq"].push_back(i == 0 ? 0 : 1);
  }
  return c;
}

}  // namespace

TEST_CASE("Hunyuan-A13B's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({projections(4096, 32, 8, 128),
                                  qk_norms(128),
                                  gated_mlp("shared_mlp", 4096, 3072),
                                  gated_mlp("experts", 4096, 3072, 64),
                                  {{"gate.wg", {64, 4096}}, {"norms", {4096}, 2}}});
  const Arch a = check_tensors(
      hunyuan(), together({in_layers(32, layer), {{"embed_tokens", {128167, 4096}}, {"norm", {4096}}}}), 80393183232);
  CHECK(a.moe.top_k == 8);
}

TEST_CASE("Hunyuan configs with different experts per layer or several shared experts are rejected",
          "[import][family]") {
  const auto says = [](const char* more) { return refusal(small("hunyuan_v1_moe", more)); };
  CHECK(arch(small("hunyuan_v1_moe", R"("num_experts": 4, "moe_topk": 2)")).moe.width == 256);
  CHECK(says(R"("num_experts": [4, 4, 4, 4, 4, 4, 4, 8])") ==
        "c.json: \"num_experts\" is 4 in one layer and 8 in another; layers with different experts are not supported");
  CHECK_THAT(says(R"("moe_topk": [1, 1])"), Catch::Contains("expected one entry per layer (8), got 2"));
  CHECK(arch(small("hunyuan_v1_moe", R"("use_cla": true, "cla_share_factor": 2)")).mixers[0].layers ==
        layers({1, 3, 5, 7}));
  CHECK_THAT(says(R"("use_mixed_mlp_moe": false)"), Catch::Contains("\"use_mixed_mlp_moe\" is false"));
  CHECK_THAT(says(R"("moe_layer_num_skipped": 1)"), Catch::Contains("\"moe_layer_num_skipped\""));
  CHECK_THAT(says(R"("num_shared_expert": 2)"), Catch::Contains("\"num_shared_expert\": expected 1"));
}

// Every second layer reuses the keys and values of the previous one, and has separate norm weights for the keys.
TEST_CASE("Hunyuan-Large's parameter count matches its tensor shapes, and every second layer has a cache",
          "[import][family]") {
  const Tensors mlp = together({gated_mlp("shared_mlp", 6400, 18304),
                                gated_mlp("experts", 6400, 18304, 16),
                                {{"gate.wg", {16, 6400}}, {"norms", {6400}, 2}, {"query, key_layernorm", {80}, 2}}});
  const Tensors self = projections(6400, 80, 8, 80), cross{{"q_proj", {6400, 6400}}, {"o_proj", {6400, 6400}}};
  const Arch a = check_tensors(hunyuan_large,
                               together({in_layers(64, mlp),
                                         in_layers(32, self),
                                         in_layers(32, cross),
                                         {{"embed_tokens", {129024, 6400}}, {"norm", {6400}}}}),
                               388701405440);
  CHECK(cache_elements_per_token(a) == 32 * 2 * 8 * 80);
  CHECK(a.moe.top_k == 1);
  CHECK(imported(hunyuan_large).caveats.empty());
}

TEST_CASE("the older config keys of Hunyuan select experts, norms and shared caches", "[import][family]") {
  const Arch dense = arch(small("hunyuan", R"("use_qk_norm": true)"));
  CHECK_FALSE(dense.has_experts());
  CHECK(dense.qk_norm == QkNorm::per_head);
  const Arch mixed = arch(small("hunyuan", R"("num_experts": 4, "use_cla": true, "cla_share_factor": 4)"));
  CHECK(mixed.moe.shared_experts == 0);
  CHECK(mixed.qk_norm == QkNorm::none);
  CHECK(mixed.mixers[0].layers == others_of(8, {0, 4}));
  CHECK_FALSE(mixed.mixers[0].query_scale);
  CHECK_THAT(refusal(small("hunyuan", R"("use_mla": true)")), Catch::Contains("\"use_mla\" is true"));
  CHECK_THAT(refusal(small("hunyuan", R"("mlp_bias": true)")), Catch::Contains("\"mlp_bias\" is true"));
}

TEST_CASE("Step 3's parameter count matches its tensor shapes, with low-rank queries and one KV head",
          "[import][family]") {
  const Tensors attention{{"q_proj", {2048, 7168}},           {"inter_norm", {2048}},       {"wq", {64 * 256, 2048}},
                          {"k_proj, v_proj", {256, 7168}, 2}, {"o_proj", {7168, 64 * 256}}, {"norms", {7168}, 2}};
  const Tensors moe =
      together({gated_mlp("moe", 7168, 5120, 48), gated_mlp("share_expert", 7168, 5120), {{"moe.gate", {48, 7168}}}});
  const Arch a = check_tensors(step3,
                               together({in_layers(61, attention), in_layers(56, moe),
                                         in_layers(5, gated_mlp("mlp", 7168, 18432)), ends(128815, 7168)}),
                               316294538240);
  CHECK(cache_elements_per_token(a) == 61 * 2 * 256);
  CHECK(a.moe.layers == LayerSet::every(4, 1, 60));
  CHECK(arch(small("step3_text", "")).moe.layers == LayerSet::every(1, 1, 8));
  CHECK(arch(small("step3_text", R"("moe_layers_enum": [2, 5, 60])")).moe.layers == layers({2, 5}));
}

TEST_CASE("K-EXAONE's parameter count matches its tensor shapes, with experts in all layers but the first",
          "[import][family]") {
  const Tensors attention = together({projections(6144, 64, 8, 128), qk_norms(128), {{"norms", {6144}, 2}}});
  const Arch a = check_tensors(exaone().dump(),
                               together({in_layers(48, attention), in_layers(47, mixture(6144, 128, 2048, 1)),
                                         gated_mlp("layers.0.mlp", 6144, 18432), ends(153600, 6144)}),
                               236571150336);
  CHECK(a.norm_placement == NormPlacement::pre);
  CHECK(a.local == LocalAttention{{128}, others_of(48, {3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47})});
  CHECK(imported(exaone().dump()).caveats.front() == "1 MTP module is not counted");
}

TEST_CASE("EXAONE's experts follow the config's layer list or its number of leading dense layers", "[import][family]") {
  const auto sparse = [](const char* more) { return arch(small("exaone_moe", more)).moe.layers; };
  CHECK(sparse("") == LayerSet::every(1, 1, 8));
  CHECK(sparse(R"("first_k_dense_replace": 3)") == LayerSet::every(3, 1, 8));
  CHECK(sparse(R"("first_last_k_dense_replace": 2)") == LayerSet::every(2, 1, 8));
  CHECK(sparse(R"("is_moe_layer": [false, true, false, true, false, true, false, true])") == layers({1, 3, 5, 7}));
  CHECK(sparse(R"("mlp_layer_types": ["dense", "dense", "dense", "dense", "dense", "dense", "dense", "sparse"],
    "first_k_dense_replace": 1)") == layers({7}));
  CHECK_THAT(refusal(small("exaone_moe", R"("mlp_layer_types": ["moe"])")),
             Catch::Contains("\"mlp_layer_types\": expected dense or sparse, got \"moe\""));
  CHECK_THAT(refusal(small("exaone_moe", R"("layer_types": ["chunked_attention"])")),
             Catch::Contains("expected full_attention or sliding_attention, got \"chunked_attention\""));
  CHECK_THAT(refusal(small("exaone_moe", R"("is_moe_layer": [true])")), Catch::Contains("per layer (8)"));
  CHECK_THAT(refusal(small("exaone_moe", R"("is_moe_layer": [1, 0, 0, 0, 0, 0, 0, 0])")),
             Catch::Contains("expected true or false, got 1"));
}

TEST_CASE("Solar Open's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({projections(4096, 64, 8, 128), mixture(4096, 128, 1280, 1), {{"norms", {4096}, 2}}});
  check_tensors(solar, together({in_layers(48, layer), ends(196608, 4096)}), 102651793408);
  CHECK(arch(small("solar_open", R"("attention_bias": true)")).qkv_bias);
  CHECK_FALSE(arch(small("solar_open", R"("attention_bias": true)")).attention_out_bias);
  CHECK_THAT(refusal(small("solar_open", R"("first_k_dense_replace": 1)")), Catch::Contains("experts in every layer"));
  CHECK_THAT(refusal(small("solar_open", R"("use_qk_norm": true)")), Catch::Contains("\"use_qk_norm\" is true"));
}

TEST_CASE("Trinity's parameter count matches its tensor shapes, with gated attention and four norms",
          "[import][family]") {
  const Tensors layer =
      together({projections(2048, 32, 4, 128), qk_norms(128), {{"gate_proj", {32 * 128, 2048}}, {"norms", {2048}, 4}}});
  const Arch a = check_tensors(trinity,
                               together({in_layers(32, layer), in_layers(2, gated_mlp("mlp", 2048, 6144)),
                                         in_layers(30, mixture(2048, 128, 1024, 1)), ends(200192, 2048)}),
                               26123970560);
  CHECK(a.local == LocalAttention{{2048}, others_of(32, {3, 7, 11, 15, 19, 23, 27, 31})});
  CHECK(a.moe.router_correction);
}

TEST_CASE("FlexOlmo's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({projections(4096, 32, 32, 128),
                                  gated_mlp("experts", 4096, 11008, 7),
                                  {{"q_norm", {4096}}, {"k_norm", {4096}}, {"gate", {7, 4096}}, {"norms", {4096}, 2}}});
  const Arch a = check_tensors(flex_olmo, together({in_layers(32, layer), ends(100352, 4096)}), 33270665216);
  CHECK(a.norm_placement == NormPlacement::output);
  CHECK(a.moe.top_k == 5);
}

TEST_CASE("the parameter count of Mistral Small 4's text model matches its tensor shapes", "[import][family]") {
  const Tensors attention = {{"q_a_proj", {1024, 4096}},     {"q_a_layernorm", {1024}},
                             {"q_b_proj", {32 * 128, 1024}}, {"kv_a_proj_with_mqa", {256 + 64, 4096}},
                             {"kv_a_layernorm", {256}},      {"kv_b_proj", {32 * (64 + 128), 256}},
                             {"o_proj", {4096, 32 * 128}},   {"norms", {4096}, 2}};
  const Arch a = check_tensors(
      mistral4, together({in_layers(36, together({attention, mixture(4096, 128, 2048, 1)})), ends(131072, 4096)}),
      118972826624);
  CHECK(cache_elements_per_token(a) == 36 * (256 + 64));
  CHECK_FALSE(a.moe.router_correction);
}

// 269515497472: the published total of its checkpoint.
TEST_CASE("Grok 2's parameter count matches its tensor shapes, with a dense MLP parallel to the experts",
          "[import][family]") {
  const Tensors layer = together({projections(8192, 64, 8, 128),
                                  gated_mlp("mlp", 8192, 32768),
                                  gated_mlp("block_sparse_moe.experts", 8192, 16384, 8),
                                  {{"block_sparse_moe.gate", {8, 8192}}, {"norms", {8192}, 4}}});
  const Arch a =
      check_tensors(grok_2("Grok1ForCausalLM"), together({in_layers(64, layer), ends(131072, 8192)}), 269515497472);
  CHECK(a.activation == Activation::gelu);
  CHECK(a.norm_placement == NormPlacement::both);
  CHECK(refusal(grok_2("GitForCausalLM")) ==
        "c.json: \"git\" is supported only for Grok 2, whose \"architectures\" names Grok1ForCausalLM; GIT is not "
        "supported");
}

TEST_CASE("SmallThinker's parameter count matches its tensor shapes, with ReLU experts in every layer",
          "[import][family]") {
  const Tensors layer = together({projections(2560, 28, 4, 128),
                                  gated_mlp("experts", 2560, 768, 64),
                                  {{"primary_router", {64, 2560}}, {"norms", {2560}, 2}}});
  const Arch a =
      check_tensors(smallthinker().dump(), together({in_layers(52, layer), ends(151936, 2560)}), 21506562560);
  CHECK(a.activation == Activation::relu);
  CHECK(a.moe.top_k == 6);
  CHECK(a.local == LocalAttention{{4096}, others_of(52, {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48})});
  CHECK_THAT(refusal(small("smallthinker", R"("use_qk_norm": true)")), Catch::Contains("\"use_qk_norm\" is true"));
}

TEST_CASE("MiMo-V2.5-Pro's parameter count matches its tensor shapes, with sinks in sliding-window layers",
          "[import][family]") {
  const Tensors attention = {{"q of qkv_proj", {128 * 192, 6144}},
                             {"k of qkv_proj", {8 * 192, 6144}},
                             {"v of qkv_proj", {8 * 128, 6144}},
                             {"o_proj", {6144, 128 * 128}},
                             {"norms", {6144}, 2}};
  const Arch a =
      check_tensors(mimo_v2().dump(),
                    together({in_layers(70, attention), in_layers(60, {{"attention_sink_bias", {128}}}),
                              gated_mlp("layers.0.mlp", 6144, 16384),
                              in_layers(69, together({gated_mlp("experts", 6144, 2048, 384), {{"gate", {384, 6144}}}})),
                              ends(152576, 6144)}),
                    1021248092160 + 60 * 128);
  CHECK(a.moe.router_correction);
  CHECK(a.mtp.modules == 0);
  json::Value one = mimo_v2();
  one["num_nextn_predict_layers"] = 1;
  CHECK(arch(one.dump()).mtp.modules == 1);
  CHECK(arch(one.dump()).mtp.mlp_of == 0);
}
