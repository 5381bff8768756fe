// Families whose layers repeat the weights of others: published configs, with parameters counted from the shapes of
// their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// ByteDance/Ouro-1.4B; Ouro-2.6B has 48 layers.
std::string ouro(Count layers, const std::string& steps = "4") {
  return R"({"architectures": ["OuroForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0,
    "early_exit_threshold": 1.0, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
    "intermediate_size": 5632, "max_position_embeddings": 65536, "max_window_layers": 28, "model_type": "ouro",
    "num_attention_heads": 16, "num_hidden_layers": )" +
         std::to_string(layers) + R"(, "num_key_value_heads": 16, "rms_norm_eps": 1e-06, "rope_scaling": null,
    "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "total_ut_steps": )" +
         steps + R"(, "use_cache": true, "use_sliding_window": false, "vocab_size": 49152})";
}

Tensors ouro_modules(Count layers) {
  const Tensors layer = together({projections(2048, 16, 16, 128),
                                  gated_mlp("mlp", 2048, 5632),
                                  {{"input_layernorm, _2, post_attention_layernorm, _2", {2048}, 4}}});
  return together({in_layers(layers, layer),
                   {{"embed_tokens", {49152, 2048}},
                    {"lm_head", {49152, 2048}},
                    {"norm", {2048}},
                    {"early_exit_gate.weight", {1, 2048}},
                    {"early_exit_gate.bias", {1}}}});
}

// facebook/MobileLLM-125M
std::string mobilellm(const std::string& sharing) {
  return R"({"architectures": ["MobileLLMForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 1, "eos_token_id": 2, "head_dim": 64, "hidden_act": "silu", "hidden_size": 576,
    "initializer_range": 0.02, "intermediate_size": 1536, "layer_sharing": )" +
         sharing + R"(, "max_position_embeddings": 2048, "mlp_bias": false, "model_type": "mobilellm",
    "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "share_embedding": true,
    "tie_word_embeddings": false, "use_cache": true, "vocab_size": 32000})";
}

}  // namespace

// 2667974657: the published total of Ouro-2.6B's checkpoint.
TEST_CASE("Ouro's parameter count covers one pass over its layers, and its cache covers every pass",
          "[import][family]") {
  const Arch a = check_tensors(ouro(48), ouro_modules(48), 2667974657);
  CHECK(a.layers == 4 * 48);
  CHECK(cache_elements_per_token(a) == 4 * 48 * 2 * 16 * 128);
  CHECK(parameters(a).matmul == Count{4} * 48 * (4 * 2048 * 2048 + 3 * 2048 * 5632) + 49152 * 2048 + 2048);
  check_tensors(ouro(24), ouro_modules(24), 1434652673);
}

TEST_CASE("Ouro with a single pass has no repeated layers, and Ouro with sliding windows is rejected",
          "[import][family]") {
  const Arch once = arch(ouro(24, "1"));
  CHECK(once.layers == 24);
  CHECK_FALSE(once.has_repeats());
  CHECK_THAT(refusal(small("ouro", R"("use_sliding_window": true)")),
             Catch::Contains("Ouro is supported only without"));
  CHECK_THAT(refusal(ouro(500)), Catch::Contains("expected 1 to 1024 layers, got 2000"));
}

// 124.6 million parameters are published for both (arXiv:2402.14905, table 3).
TEST_CASE("MobileLLM's shared layers run twice, and their parameters count once", "[import][family]") {
  const Tensors layer = together({projections(576, 9, 3, 64), gated_mlp("mlp", 576, 1536), {{"layernorms", {576}, 2}}});
  const Tensors all = together({in_layers(30, layer), {{"embed_tokens", {32000, 576}}, {"norm", {576}}}});
  CHECK(check_tensors(mobilellm("false"), all, 124635456).layers == 30);
  const Arch shared = check_tensors(mobilellm("true"), all, 124635456);
  CHECK(shared.layers == 60);
  CHECK(shared.weights_of(31) == 30);
}
