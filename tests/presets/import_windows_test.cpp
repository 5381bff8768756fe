// Layers with windows, chunked attention, linear attention or shared keys and values.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const std::string eight_types = R"("layer_types": ["full_attention", "sliding_attention", "sliding_attention",
  "full_attention", "full_attention", "full_attention", "full_attention", "sliding_attention"])";

}  // namespace

TEST_CASE("Mistral has sliding windows in every layer unless its config disables them", "[import]") {
  CHECK(arch(small("mistral", R"("sliding_window": 16)")).local == LocalAttention{{16}, LayerSet::all(8)});
  CHECK(arch(small("mistral", R"("sliding_window": null)")).local.reach.tokens == 0);
  CHECK(arch(small("mistral", "")).local.reach.tokens == 0);       // 4096 exceeds the context
  const Arch absent = arch(part(R"({"model_type": "mistral"})"));  // MistralConfig: window 4096, context 131072
  CHECK(absent.local == LocalAttention{{4096}, LayerSet::all(32)});
  CHECK(absent.kv_heads == 8);
  CHECK(arch(part(R"({"model_type": "mistral", "num_key_value_heads": null})")).kv_heads == 32);
}

TEST_CASE("a sliding window as long as the context is ignored", "[import]") {
  CHECK(arch(small("mistral", R"("sliding_window": 64)")).local == LocalAttention{});
  CHECK(arch(small("phi3", R"("sliding_window": 64)")).local == LocalAttention{});
  CHECK(arch(small("phi3", R"("sliding_window": 63)")).local == LocalAttention{{63}, LayerSet::all(8)});
  CHECK(arch(small("starcoder2", R"("sliding_window": null)")).local == LocalAttention{});
  CHECK(arch(small("mixtral", "")).local == LocalAttention{});
}

TEST_CASE("Qwen has sliding windows only with use_sliding_window, starting at layer max_window_layers", "[import]") {
  CHECK(arch(small("qwen2", R"("sliding_window": 16, "max_window_layers": 5)")).local == LocalAttention{});
  const std::string on = R"("use_sliding_window": true, "sliding_window": 16, "max_window_layers": 5)";
  CHECK(arch(small("qwen2", on)).local == LocalAttention{{16}, layers({5, 6, 7})});
  CHECK(arch(small("qwen3", on)).local == LocalAttention{{16}, layers({5, 6, 7})});
  CHECK(arch(small("qwen2", R"("use_sliding_window": true, "sliding_window": 16)")).local == LocalAttention{});
  CHECK(arch(small("qwen2", on + ", " + eight_types)).local == LocalAttention{{16}, layers({1, 2, 7})});
}

TEST_CASE("Gemma, Cohere, OLMo and gpt-oss have default window patterns; layer_types takes precedence", "[import]") {
  const std::string window = R"("sliding_window": 16)";
  CHECK(arch(small("gemma2", window)).local == LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("gemma3_text", window)).local == LocalAttention{{16}, layers({0, 1, 2, 3, 4, 6, 7})});
  CHECK(arch(small("gemma3_text", window + R"(, "sliding_window_pattern": 2)")).local ==
        LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("cohere2", window)).local == LocalAttention{{16}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("olmo3", window)).local == LocalAttention{{16}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("gpt_oss", window)).local == LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("exaone4", window + R"(, "sliding_window_pattern": "LG")")).local ==
        LocalAttention{{16}, layers({0, 2, 4, 6})});
  for (const char* type : {"gemma2", "gemma3_text", "cohere2", "olmo3", "gpt_oss", "exaone4", "mistral"}) {
    CAPTURE(type);
    CHECK(arch(small(type, window + ", " + eight_types)).local == LocalAttention{{16}, layers({1, 2, 7})});
    CHECK(arch(small(type, R"("sliding_window": null)")).local == LocalAttention{});
  }
}

TEST_CASE("Gemma 4 shares keys and values in its last layers, which have wider MLPs", "[import]") {
  const std::string types = R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention",
    "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"])";
  const Arch a = arch(small("gemma4_text", types + R"(, "sliding_window": 16, "num_kv_shared_layers": 4,
    "use_double_wide_mlp": true, "head_dim": 16, "global_head_dim": 32, "hidden_size_per_layer_input": 8)"));
  REQUIRE(a.mixers.size() == 3);
  CHECK(a.local == LocalAttention{{16}, layers({0, 2})});
  CHECK(a.mixers[0].layers == layers({1, 3}));
  CHECK(a.mixers[0].head_dim == 32);
  CHECK(a.mixers[1].layers == layers({4, 6}));
  CHECK(a.mixers[1].reach == Reach{16});
  CHECK((a.mixers[1].shared_kv && a.mixers[2].shared_kv && !a.mixers[0].shared_kv));
  CHECK(a.mlps[0] == LayerMlp{512, layers({4, 5, 6, 7})});
  CHECK(a.per_layer == PerLayerInput{262144, 8});
  CHECK(refusal(small("gemma4_text", R"("num_kv_shared_layers": 8)")) ==
        "c.json: \"num_kv_shared_layers\" must be below the number of layers; lower it");
  CHECK(refusal(small("gemma4_text", R"("num_kv_shared_layers": 3)")) ==
        "c.json: layer 5 shares keys and values, but the last earlier layer with its own keys and values and the same "
        "window is missing or has different heads or widths; add a matching layer");
}

TEST_CASE("Llama 4 has chunked attention in layers with RoPE, and experts in the configured layers", "[import]") {
  const std::string chunk = R"("attention_chunk_size": 16)";
  CHECK(arch(small("llama4_text", chunk)).local == LocalAttention{{16, true}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("llama4_text", chunk + R"(, "no_rope_layers": [])")).local.layers == layers({0, 1, 2, 4, 5, 6}));
  CHECK(arch(small("llama4_text", chunk + R"(, "no_rope_layers": [1, 0, 1, 0, 1, 0, 1, 0])")).local.layers ==
        layers({0, 2, 4, 6}));
  const Arch dense = arch(small("llama4_text", R"("interleave_moe_layer_step": 2, "intermediate_size_mlp": 512)"));
  CHECK(dense.moe.layers == layers({1, 3, 5, 7}));
  CHECK(dense.moe.width == 256);
  CHECK(dense.moe.shared_width == 256);
  CHECK(dense.mlp_width == 512);
  CHECK(arch(small("llama4_text", R"("moe_layers": [2])")).moe.layers == layers({2}));
  const Arch guard = arch(small(
      "llama4_text",
      R"("num_local_experts": 0, "interleave_moe_layer_step": 0, "moe_layers": [], "intermediate_size_mlp": 512)"));
  CHECK_FALSE(guard.has_experts());
  CHECK(guard.mlp_width == 512);
  CHECK(arch(small("llama4_text", "")).mlp_width == 0);  // experts in every layer
  CHECK(arch(small("llama4_text", "")).qk_norm == QkNorm::weight_free);
  CHECK(arch(small("llama4_text", R"("use_qk_norm": false)")).qk_norm == QkNorm::none);
}

TEST_CASE("MiniMax has lightning attention in the layers in its list", "[import]") {
  const std::string list = R"("attn_type_list": [0, 0, 0, 1, 0, 0, 0, 1])";
  CHECK(arch(small("minimax_text_01", list)).linear_layers == layers({0, 1, 2, 4, 5, 6}));
  CHECK(arch(small("minimax", "")).linear_layers == layers({1, 3, 5, 7}));
  CHECK(arch(small("minimax_m2", R"("attn_type_list": [1, 1, 1, 1, 1, 1, 1, 1])")).linear_layers.empty());
}
