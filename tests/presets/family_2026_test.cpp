// Families of 2026 without new operators: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Routed experts of `width` with a bias-free router.
Tensors routed(Count hidden, Count experts, Count width) {
  return together({gated_mlp("experts", hidden, width, experts), {{"gate", {experts, hidden}}}});
}

Tensors qk_norms(Count head_dim) { return {{"q_norm", {head_dim}}, {"k_norm", {head_dim}}}; }

/// Token embedding, untied head and final norm.
Tensors untied(Count vocabulary, Count hidden) {
  return {{"embed_tokens", {vocabulary, hidden}}, {"lm_head", {vocabulary, hidden}}, {"norm", {hidden}}};
}
Tensors tied(Count vocabulary, Count hidden) { return {{"embed_tokens", {vocabulary, hidden}}, {"norm", {hidden}}}; }

/// A list with one term per layer: `one` in the layers where (i + shift) is a multiple of `step`, `other` elsewhere.
json::Value words(Count layers, Count step, Count shift, const char* one, const char* other) {
  json::Value list = json::Value::array();
  for (Count i = 0; i < layers; ++i) list.push_back((i + shift) % step == 0 ? one : other);
  return list;
}
json::Value with_lists(const std::string& config) { return json::parse(config, "c.json"); }

/// All layers except `first` and every `step`-th after it.
LayerSet all_but(Count layers, Count first, Count step) {
  LayerSet set;
  for (Count i = 0; i < layers; ++i)
    if (i < first || (i - first) % step != 0) set.insert(i);
  return set;
}

// tencent/Hy3
const std::string hy3 = R"({"architectures": ["HYV3ForCausalLM"], "model_type": "hy_v3", "vocab_size": 120832,
  "hidden_size": 4096, "intermediate_size": 13312, "num_hidden_layers": 80, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 262144,
  "rms_norm_eps": 1e-05, "rope_parameters": {"rope_theta": 11158840.0, "rope_type": "default"},
  "tie_word_embeddings": false, "moe_intermediate_size": 1536, "expert_hidden_dim": 1536, "num_experts": 192,
  "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
  "qk_norm": true, "route_norm": true, "moe_router_use_sigmoid": true, "moe_router_enable_expert_bias": true,
  "router_scaling_factor": 2.826, "output_router_logits": true, "enable_lm_head_fp32": true,
  "use_grouped_mm": false})";

// poolside/Laguna-XS.2
json::Value laguna() {
  json::Value c = with_lists(R"({"architectures": ["LagunaForCausalLM"], "model_type": "laguna", "vocab_size": 100352,
    "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 48,
    "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 512, "num_experts": 256, "num_experts_per_tok": 8,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "mlp_only_layers": [0],
    "moe_routed_scaling_factor": 2.5, "norm_topk_prob": true, "tie_word_embeddings": false, "gating": "per-head",
    "max_position_embeddings": 262144})");
  c["layer_types"] = words(40, 4, 0, "full_attention", "sliding_attention");
  c["mlp_layer_types"] = words(40, 40, 0, "dense", "sparse");
  for (int i = 0; i < 40; ++i) c["num_attention_heads_per_layer"].push_back(i % 4 == 0 ? 48 : 64);
  return c;
}

// JetBrains/Mellum2-12B-A2.5B-Base
json::Value mellum() {
  json::Value c = with_lists(R"({"architectures": ["MellumForCausalLM"], "attention_bias": false, "dtype": "bfloat16",
    "head_dim": 128, "hidden_act": "silu", "hidden_size": 2304, "intermediate_size": 7168,
    "max_position_embeddings": 131072, "max_window_layers": 0, "model_type": "mellum", "moe_intermediate_size": 896,
    "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 64, "num_experts_per_tok": 8,
    "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "sliding_window": 1024,
    "tie_word_embeddings": false, "use_sliding_window": true, "vocab_size": 98304})");
  c["layer_types"] = words(28, 4, 1, "full_attention", "sliding_attention");
  c["mlp_layer_types"] = words(28, 1, 0, "sparse", "dense");
  return c;
}

// CohereLabs' North Mini Code
const std::string north_mini = R"({"architectures": ["Cohere2MoeForCausalLM"], "model_type": "cohere2_moe",
  "hidden_size": 2048, "head_dim": 128, "num_hidden_layers": 49, "intermediate_size": 768,
  "prefix_dense_intermediate_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 262144,
  "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 0, "first_k_dense_replace": 1,
  "prefix_dense_sliding_window_pattern": 1, "expert_selection_fn": "sigmoid", "sliding_window": 4096,
  "rope_theta": 50000, "max_position_embeddings": 500000, "use_parallel_block": true, "use_qk_norm": false,
  "norm_topk_prob": false, "tie_word_embeddings": null, "rms_norm_eps": 1e-06, "layer_norm_eps": 1e-05})";

// google/gemma-4-12B-it, the text model
json::Value gemma_12b() {
  json::Value c = with_lists(R"({"model_type": "gemma4_unified_text", "hidden_size": 3840, "intermediate_size": 15360,
    "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 1,
    "head_dim": 256, "global_head_dim": 512, "attention_k_eq_v": true, "sliding_window": 1024,
    "max_position_embeddings": 262144, "rms_norm_eps": 1e-06, "enable_moe_block": false,
    "use_bidirectional_attention": "vision", "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": true,
    "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0, "vocab_size": 262144})");
  c["layer_types"] = words(48, 6, 1, "full_attention", "sliding_attention");
  return c;
}

}  // namespace

// The published files have 298786155776 parameters: 295033528320 of the model, 3752612096 of its MTP module, and a bias
// per expert in 80 layers.
TEST_CASE("Hy3's parameter count matches its tensor shapes, and its MTP module is counted separately",
          "[import][family]") {
  const Tensors attention = together({projections(4096, 64, 8, 128), qk_norms(128), {{"norms", {4096}, 2}}});
  const Tensors experts = together({routed(4096, 192, 1536), gated_mlp("shared_mlp", 4096, 1536)});
  const Arch a = check_tensors(hy3,
                               together({in_layers(80, attention), gated_mlp("layers.0.mlp", 4096, 13312),
                                         in_layers(79, experts), untied(120832, 4096)}),
                               295033528320);
  const Tensors module = together({attention, experts, {{"eh_proj", {4096, 8192}}, {"its norms", {4096}, 3}}});
  CHECK(mtp_parameters(a).total == numbers(module));
  CHECK(295033528320 + numbers(module) + 80 * 192 == 298786155776);
  CHECK(a.moe.router_correction);
  CHECK(arch(small("hy_v3", R"("mlp_layer_types": ["dense", "dense", "sparse", "sparse", "sparse", "sparse", "sparse",
    "sparse"], "expert_hidden_dim": 64)"))
            .moe.layers == LayerSet::every(2, 1, 8));
  CHECK_THAT(refusal(small("hy_v3", R"("mlp_bias": true)")), Catch::Contains("\"mlp_bias\" is true"));
  CHECK(imported(small("hy_v3", R"("enable_moe_fp32_combine": true)")).unknown_keys.empty());
}

TEST_CASE("Laguna's parameter count matches its tensor shapes, with more heads in sliding-window layers",
          "[import][family]") {
  const auto attention = [](Count heads) {
    return together({projections(2048, heads, 8, 128), {{"g_proj", {heads, 2048}}}, qk_norms(128)});
  };
  const Arch a =
      check_tensors(laguna().dump(),
                    together({in_layers(10, attention(48)), in_layers(30, attention(64)),
                              in_layers(40, {{"norms", {2048}, 2}}), gated_mlp("layers.0.mlp", 2048, 8192),
                              in_layers(39, together({routed(2048, 256, 512), gated_mlp("shared", 2048, 512)})),
                              untied(100352, 2048)}),
                    33442607104);
  CHECK(a.mixers[0].layers == all_but(40, 0, 4));
  CHECK(a.mixers[0].reach.tokens == 512);
  CHECK_FALSE(a.local.reach.limited());
  CHECK(cache_elements_per_token(a) == 40 * 2 * 8 * 128);
}

TEST_CASE("Laguna and Mellum accept mlp_only_layers unless mlp_layer_types contradicts it", "[import][family]") {
  for (const char* type : {"laguna", "mellum"}) {
    INFO(type);
    const auto sparse = [&](const char* more) { return arch(small(type, more)).moe.layers; };
    CHECK(sparse(R"("mlp_only_layers": [0, 2])") == layers({1, 3, 4, 5, 6, 7}));
    CHECK(sparse(R"("mlp_only_layers": [])") == sparse(R"("decoder_sparse_step": 1)"));
    CHECK_THAT(refusal(small(type, R"("mlp_only_layers": [3], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse",
      "sparse", "sparse", "sparse", "sparse"])")),
               Catch::Contains("mlp_only_layers"));
  }
}

TEST_CASE("Laguna's heads, windows and gates follow per-layer lists; unsupported settings are rejected",
          "[import][family]") {
  const Arch a = arch(small("laguna", R"("head_dim": 16, "sliding_window": 8, "gating": "per-element",
    "num_attention_heads_per_layer": [6, 4, 6, 4, 6, 4, 6, 8], "layer_types": ["full_attention", "sliding_attention",
    "sliding_attention", "full_attention", "full_attention", "sliding_attention", "full_attention",
    "full_attention"])"));
  CHECK(a.attention_gate == AttentionGate::per_channel);
  CHECK(a.local == LocalAttention{{8}, layers({2})});
  CHECK(a.mixers.size() == 3);
  CHECK(a.mixers[0].layers == layers({1, 5}));
  CHECK(a.mixers[1].layers == layers({3}));
  CHECK(a.mixers[2].heads == 8);
  CHECK(a.moe.layers == LayerSet::every(1, 1, 8));
  const Arch other =
      arch(small("laguna", R"("head_dim": 16, "num_attention_heads_per_layer": [4, 4, 8, 8, 8, 8, 8, 8])"));
  CHECK(other.heads == 4);
  CHECK(other.mixers[0].layers == LayerSet::every(2, 1, 8));
  CHECK_THAT(refusal(small("laguna", R"("num_attention_heads_per_layer": [6])")), Catch::Contains("per layer (8)"));
  CHECK_THAT(refusal(small("laguna", R"("num_attention_heads_per_layer": [2, 4, 6, 8, 10, 12, 14, 16])")),
             Catch::Contains("more than five combinations of heads and window"));
  CHECK_THAT(refusal(small("laguna", R"("gating": false)")), Catch::Contains("expected true, per-head or per-element"));
  CHECK_THAT(refusal(small("laguna", R"("gating_types": ["per-head", "per-element"])")),
             Catch::Contains("different gates"));
  CHECK_THAT(refusal(small("laguna", R"("gating": true, "gating_types": ["per-element"])")),
             Catch::Contains("different gates"));
  CHECK(arch(small("laguna", R"("gating_types": ["per-element", "per-element"])")).attention_gate ==
        AttentionGate::per_channel);
}

TEST_CASE("Mellum 2's parameter count matches its tensor shapes, with full attention in one of four layers",
          "[import][family]") {
  const Tensors layer =
      together({projections(2304, 32, 4, 128), qk_norms(128), routed(2304, 64, 896), {{"norms", {2304}, 2}}});
  const Arch a = check_tensors(mellum().dump(), together({in_layers(28, layer), untied(98304, 2304)}), 12149923072);
  CHECK(a.local == LocalAttention{{1024}, all_but(28, 3, 4)});
  CHECK(a.moe.top_k == 8);
  CHECK_FALSE(a.moe.router_correction);
}

TEST_CASE("North Mini's parameter count matches its tensor shapes, with experts parallel to attention",
          "[import][family]") {
  const Tensors layer = together({projections(2048, 32, 4, 128), {{"input_layernorm", {2048}}}});
  const Arch a = check_tensors(north_mini,
                               together({in_layers(49, layer), in_layers(48, routed(2048, 128, 768)),
                                         gated_mlp("layers.0.mlp", 2048, 3072), tied(262144, 2048)}),
                               30484303872);
  CHECK(a.block == BlockKind::parallel);
  CHECK(a.norm == NormKind::rms_norm);
  CHECK(a.local == LocalAttention{{4096}, all_but(49, 0, 4)});
}

TEST_CASE("Cohere's experts and windows follow the config's lists or its number of leading dense layers",
          "[import][family]") {
  const Arch plain = arch(small("cohere2_moe", R"("num_shared_experts": 2, "sliding_window": 8)"));
  CHECK(plain.norm == NormKind::layer_norm_no_bias);
  CHECK(plain.moe.shared_experts == 2);
  CHECK(plain.moe.shared_width == 256);
  CHECK(plain.local.layers == others_of(8, {3, 7}));
  const Arch dense = arch(small("cohere2_moe", R"("first_k_dense_replace": 2, "sliding_window": 8,
    "prefix_dense_sliding_window_pattern": 2)"));
  CHECK(dense.moe.layers == LayerSet::every(2, 1, 8));
  CHECK(dense.mlp_width == 256);
  CHECK(dense.local.layers == layers({0, 2, 3, 4, 6, 7}));
}

// ibm-granite/granite-swash-2b: the defaults of its config class.
TEST_CASE(
    "the parameter count of Granite with sinks matches its tensor shapes, and every fourth layer has full attention",
    "[import][family]") {
  const Tensors layer =
      together({projections(2560, 20, 4, 128), gated_mlp("mlp", 2560, 8192), {{"sinks", {20}}, {"norms", {2560}, 2}}});
  const Arch a = check_tensors(R"({"model_type": "granite_swa", "hidden_size": 2560, "intermediate_size": 8192,
    "num_hidden_layers": 24, "num_attention_heads": 20, "num_key_value_heads": 4, "max_position_embeddings": 8192,
    "vocab_size": 100352, "tie_word_embeddings": true, "sliding_window": 128, "layer_rope_theta": null})",
                               together({in_layers(24, layer), tied(100352, 2560)}), 2144463840);
  CHECK(a.local == LocalAttention{{128}, all_but(24, 0, 4)});
  const Arch experts = arch(small("granitemoe_swa", R"("sliding_window": 8, "shared_intermediate_size": 0)"));
  CHECK(experts.attention_sinks);
  CHECK(experts.has_experts());
  CHECK(experts.local == LocalAttention{{8}, others_of(8, {0, 4})});
}

TEST_CASE("the parameter count of Gemma 4 12B's text model matches its tensor shapes", "[import][family]") {
  const Tensors slide = together({projections(3840, 16, 8, 256), qk_norms(256)});
  const Tensors full = {
      {"q_proj", {16 * 512, 3840}}, {"k_proj", {512, 3840}}, {"o_proj", {3840, 16 * 512}}, {"q, k_norm", {512}, 2}};
  const Tensors rest = together({gated_mlp("mlp", 3840, 15360), {{"norms", {3840}, 4}, {"layer_scalar", {1}}}});
  const Arch a = check_tensors(
      gemma_12b().dump(), together({in_layers(40, slide), in_layers(8, full), in_layers(48, rest), tied(262144, 3840)}),
      11907350320);
  CHECK(a.local.reach.tokens == 1024);
  CHECK_FALSE(a.has_experts());
  CHECK_THAT(refusal(small("gemma4_unified_text", R"("enable_moe_block": true)")), Catch::Contains("not supported"));
}

// configuration_gemma4.py: "Last layer must use full_attention".
TEST_CASE("Gemma 4's last layer has full attention whatever its layer_types list states", "[import][family]") {
  const auto full = [](const std::string& more) {
    const Arch a = arch(small("gemma4_unified_text", R"("head_dim": 16, "global_head_dim": 32)" + more));
    LayerSet wide;
    for (std::size_t i = 0; i < a.mixers.size(); ++i)
      if (a.mixers[i].head_dim == 32)
        for (Count layer = 0; layer < a.layers; ++layer)
          if (a.mixers[i].layers.contains(layer)) wide.insert(layer);
    return wide;
  };
  CHECK(full("") == test::layers({5, 7}));
  CHECK(full(R"(, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
    "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"])") == test::layers({7}));
}

// transformers 5 writes the head settings of full-attention layers to per_layer_config, keyed by layer number.
TEST_CASE("Gemma 4's per-layer head settings are read if all full-attention layers have the same values",
          "[import][family]") {
  json::Value saved = gemma_12b();
  saved.erase("global_head_dim");
  saved.erase("num_global_key_value_heads");
  for (const char* layer : {"05", "11", "17", "23", "29", "35", "41", "47"})
    saved["per_layer_config"][layer] = {{"head_dim", 512}, {"num_key_value_heads", 1}};
  CHECK(arch(saved.dump()) == arch(gemma_12b().dump()));
  const auto with = [&](const char* layer, const char* key, Count n) {
    json::Value other = saved;
    other["per_layer_config"][layer][key] = n;
    return refusal(other.dump());
  };
  CHECK_THAT(with("05", "head_dim", 256), Catch::Contains("its layers differ"));
  CHECK_THAT(with("x", "head_dim", 512), Catch::Contains("expected layer numbers, got \"x\""));
  CHECK_THAT(with("4", "head_dim", 512), Catch::Contains("differ"));
  saved["per_layer_config"].erase("47");
  CHECK_THAT(refusal(saved.dump()), Catch::Contains("expected exactly the layers with full attention"));
}

// meta-models/Muse-Glimmer-30B, the text model: the defaults of its config class.
TEST_CASE("the parameter count of Muse Glimmer's text model matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({projections(6656, 32, 2, 128),
                                  gated_mlp("mlp", 6656, 19968),
                                  {{"gate_proj", {32 * 128, 6656}}, {"norms", {6656}, 4}}});
  const Arch a = check_tensors(part(R"({"model_type": "muse_glimmer_text"})"),
                               together({in_layers(52, layer), untied(202048, 6656)}), 27854780928);
  CHECK(a.activation == Activation::silu);
  CHECK(a.local == LocalAttention{{2048}, all_but(52, 3, 4)});
  CHECK(arch(small("muse_glimmer_text", R"("sliding_window": 8)")).local.layers == others_of(8, {3, 7}));
}

// naver-hyperclovax/HyperCLOVAX-SEED-Think-14B has both norms.
TEST_CASE("HyperCLOVA X imports as Granite with a norm after each sub-layer unless these are disabled",
          "[import][family]") {
  CHECK(arch(small("hyperclovax", "")).norms_per_layer == 4);
  CHECK(arch(small("hyperclovax", R"("use_post_norm": true)")).norm_placement == NormPlacement::both);
  CHECK(arch(small("hyperclovax", R"("use_post_norm": false)")) == arch(small("granite", "")));
}

// karpathy/nanochat-d32
TEST_CASE("nanochat's parameter count matches its tensor shapes, which are all matrices", "[import][family]") {
  const Tensors layer = {{"q, k, v, o_proj", {2048, 2048}, 4}, {"fc", {8192, 2048}}, {"proj", {2048, 8192}}};
  const Arch a = check_tensors(R"({"model_type": "nanochat", "vocab_size": 65536, "hidden_size": 2048,
    "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads": 16,
    "max_position_embeddings": 2048, "hidden_act": "relu2", "tie_word_embeddings": false})",
                               together({in_layers(32, layer), {{"table and head", {65536, 2048}, 2}}}), 1879048192);
  CHECK(a.activation == Activation::relu_squared);
  CHECK(a.qk_norm == QkNorm::weight_free);
}

// sarvamai/sarvam-30b and sarvam-105b: the defaults of their config classes.
TEST_CASE("parameter counts of Sarvam's models match their tensor shapes", "[import][family]") {
  const Tensors experts = together({routed(4096, 128, 1024), gated_mlp("shared_experts", 4096, 1024)});
  const Arch a = check_tensors(
      part(R"({"model_type": "sarvam_moe"})"),
      together({in_layers(19, together({projections(4096, 64, 4, 64), qk_norms(64), {{"norms", {4096}, 2}}})),
                gated_mlp("layers.0.mlp", 4096, 8192), in_layers(18, experts), untied(262144, 4096)}),
      32152648064);
  CHECK(a.moe.top_k == 6);
  const Tensors attention = {{"q_proj", {64 * 192, 4096}}, {"kv_a_proj_with_mqa", {512 + 64, 4096}},
                             {"kv_a_layernorm", {512}},    {"kv_b_proj", {64 * (128 + 128), 512}},
                             {"o_proj", {4096, 64 * 128}}, {"norms", {4096}, 2}};
  const Tensors wide = together({routed(4096, 128, 2048), gated_mlp("shared_experts", 4096, 2048)});
  check_tensors(part(R"({"model_type": "sarvam_mla", "num_experts": 128, "num_shared_experts": 1})"),
                together({in_layers(32, attention), gated_mlp("layers.0.mlp", 4096, 16384), in_layers(31, wide),
                          untied(262144, 4096)}),
                106031763456);
}

TEST_CASE("HunyuanOCR's text model imports as a dense Hunyuan with a tied head by default", "[import][family]") {
  const Arch a = arch(small("hunyuan_vl", R"("vision_config": {"hidden_size": 32})"));
  Arch dense = arch(small("hunyuan_v1_dense", R"("tie_word_embeddings": true)"));
  CHECK(a == dense);
  CHECK(arch(part(small("hunyuan_vl_text", ""))) == dense);
  CHECK_FALSE(imported(small("hunyuan_vl", R"("vision_config": {"hidden_size": 32})")).caveats.empty());
}

TEST_CASE("MiniCPM 4 imports as a Llama with a tied head, with a caveat about its sparse attention",
          "[import][family]") {
  CHECK(arch(small("minicpm4", "")) == arch(small("llama", R"("tie_word_embeddings": true)")));
  for (const char* type : {"minicpm4", "minicpm"}) {
    const ModelCard sparse = imported(small(type, R"("sparse_config": {"topk": 64})"));
    CHECK(sparse.arch == arch(small(type, "")));
    CHECK_THAT(sparse.caveats.front(), Catch::Contains("\"sparse_config\""));
    CHECK(sparse.unknown_keys.empty());
  }
}

// Tele-AI/TeleChat3-36B-Thinking
TEST_CASE("TeleChat 3's parameter count matches its tensor shapes, which are those of a Llama", "[import][family]") {
  const Tensors layer =
      together({projections(6144, 48, 8, 128), gated_mlp("mlp", 6144, 24576), {{"norms", {6144}, 2}}});
  check_tensors(R"({"architectures": ["Telechat3ForCausalLM"], "attention_bias": false, "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 32768,
    "mlp_bias": false, "model_type": "telechat3", "num_attention_heads": 48, "num_hidden_layers": 64,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
    "tie_word_embeddings": false, "vocab_size": 131072})",
                together({in_layers(64, layer), untied(131072, 6144)}), 36239579136);
  for (const char* type : {"code_llama", "iquestcoder"}) CHECK(arch(small(type, "")) == arch(small("llama", "")));
  CHECK(arch(small("gpt-sw3", "")) == arch(small("gpt2", "")));
}

// FreedomIntelligence/openPangu-Embedded-7B
TEST_CASE("openPangu Embedded's parameter count matches its tensor shapes, with biases only in attention",
          "[import][family]") {
  const Tensors layer =
      together({projections(4096, 32, 8, 128),
                gated_mlp("mlp", 4096, 12800),
                {{"norms", {4096}, 2}, {"q, o_proj.bias", {4096}, 2}, {"k, v_proj.bias", {1024}, 2}}});
  check_tensors(R"({"architectures": ["PanguEmbeddedForCausalLM"], "model_type": "PanguEmbedded", "bias": true,
    "hidden_size": 4096, "intermediate_size": 12800, "num_hidden_layers": 34, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 153376, "max_position_embeddings": 32768, "tie_word_embeddings": false})",
                together({in_layers(34, layer), untied(153376, 4096)}), 8030887936);
}

// inclusionAI/LLaDA2.0-mini and LLaDA-MoE-7B-A1B-Base
TEST_CASE("parameter counts of LLaDA's MoE models match their tensor shapes", "[import][family]") {
  const Tensors layer = together({projections(2048, 16, 4, 128), qk_norms(128), {{"norms", {2048}, 2}}});
  const Tensors experts = together({routed(2048, 256, 512), gated_mlp("shared_experts", 2048, 512)});
  const std::string blocks = R"({"first_k_dense_replace": 1, "head_dim": 128, "hidden_act": "silu",
    "hidden_size": 2048, "intermediate_size": 5120, "max_position_embeddings": 32768, "model_type": "llada2_moe",
    "moe_intermediate_size": 512, "n_group": 8, "norm_head": false, "norm_topk_prob": true, "num_attention_heads": 16,
    "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 20, "num_key_value_heads": 4,
    "num_shared_experts": 1, "routed_scaling_factor": 2.5, "score_function": "sigmoid", "tie_word_embeddings": false,
    "topk_group": 4, "vocab_size": 157184})";
  check_tensors(blocks,
                together({in_layers(20, layer), gated_mlp("layers.0.mlp", 2048, 5120), in_layers(19, experts),
                          untied(157184, 2048)}),
                16255638528);
  CHECK(imported(blocks).caveats.front().starts_with("the model generates blocks of tokens"));
  const Arch masked = check_tensors(
      R"({"architectures": ["LLaDAMoEModelLM"], "model_type": "llada_moe", "hidden_size": 2048,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64,
    "num_experts_per_tok": 8, "expert_intermediate_size": 1024, "dense_intermediate_size": 8192,
    "moe_layer_freq": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "max_position_embeddings": 8192,
    "qk_layernorm": true, "hidden_act": "silu", "tie_word_embeddings": false, "vocab_size": 157184})",
      together({in_layers(16, together({projections(2048, 16, 16, 128),
                                        qk_norms(128),
                                        routed(2048, 64, 1024),
                                        {{"norms", {2048}, 2}}})),
                untied(157184, 2048)}),
      7356880896);
  CHECK(masked.bidirectional);
  CHECK(arch(small("llada", R"("num_experts": 4, "num_experts_per_tok": 2, "dense_intermediate_size": 256,
    "moe_layer_freq": [0, 1, 1, 1, 1, 1, 1, 1])"))
            .moe.layers == LayerSet::every(1, 1, 8));
}

TEST_CASE("SDAR imports as Qwen 3 with a caveat that it generates block by block", "[import][family]") {
  CHECK(arch(small("sdar", "")) == arch(small("qwen3", "")));
  CHECK(arch(small("sdar_moe", R"("num_experts": 4, "num_experts_per_tok": 2)")) ==
        arch(small("qwen3_moe", R"("num_experts": 4, "num_experts_per_tok": 2)")));
  CHECK(imported(small("sdar", "")).caveats.front().starts_with("the model generates blocks of tokens"));
}

// The defaults of its config class: layers 0, 3, ... are full, the others have windows of 64 tokens.
TEST_CASE("ModernBERT's decoder has its tensors' parameter count, with a dense layer in the head", "[import][family]") {
  const Tensors layer = {
      {"q, k, v, Wo", {768, 768}, 4}, {"Wi", {2 * 1152, 768}}, {"Wo", {768, 1152}}, {"mlp_norm", {768}}};
  const Arch a = check_tensors(
      R"({"architectures": ["ModernBertDecoderForCausalLM"], "model_type": "modernbert-decoder", "hidden_size": 768,
    "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152, "vocab_size": 50368,
    "max_position_embeddings": 8192, "hidden_activation": "gelu", "norm_bias": false, "attention_bias": false,
    "mlp_bias": false, "decoder_bias": true, "classifier_bias": false, "classifier_activation": "gelu",
    "local_attention": 128, "global_attn_every_n_layers": 3, "tie_word_embeddings": true})",
      together({in_layers(22, layer),
                in_layers(21, {{"attn_norm", {768}}}),
                {{"embeddings.tok_embeddings", {50368, 768}},
                 {"embeddings.norm", {768}},
                 {"final_norm", {768}},
                 {"lm_head.dense", {768, 768}},
                 {"lm_head.norm", {768}},
                 {"decoder.bias", {50368}}}}),
      149655232);
  CHECK_FALSE(a.bidirectional);
  CHECK(a.local.reach.tokens == 64);
  CHECK(a.local.layers == all_but(22, 0, 3));
}
