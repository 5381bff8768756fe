// Placement of experts in layers.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("the layers with experts are selected by the family's config keys", "[import]") {
  CHECK(arch(small("qwen3_moe", R"("decoder_sparse_step": 3)")).moe.layers == layers({2, 5}));
  CHECK(arch(small("qwen3_moe", R"("mlp_only_layers": [0, 7])")).moe.layers == layers({1, 2, 3, 4, 5, 6}));
  CHECK(arch(small("qwen3_moe", R"("decoder_sparse_step": 3)")).mlp_width == 256);
  CHECK(arch(small("qwen3_moe", "")).mlp_width == 0);
  CHECK(arch(small("deepseek_v3", R"("first_k_dense_replace": 2, "moe_layer_freq": 3)")).moe.layers == layers({3, 6}));
  CHECK(arch(small("deepseek_v3", "")).moe.router_correction);
  CHECK_FALSE(arch(small("deepseek_v2", R"("num_experts_per_tok": 2)")).moe.router_correction);
  CHECK_FALSE(arch(small("deepseek_v2", R"("n_routed_experts": null)")).has_experts());
  CHECK(arch(small("ernie4_5_moe", R"("moe_layer_interval": 2, "moe_layer_start_index": 2, "moe_layer_end_index": 5)"))
            .moe.layers == layers({3, 5}));
}

TEST_CASE("LongCat's layers are counted once, with or without num_hidden_layers", "[import]") {
  const auto longcat = [](const char* layers) {
    return R"({"model_type": "longcat_flash", "hidden_size": 96, "num_attention_heads": 6, "ffn_hidden_size": 256,
      "vocab_size": 1000, "max_position_embeddings": 64, )" +
           std::string(layers) + "}";
  };
  CHECK(arch(longcat(R"("num_layers": 4)")).layers == 4);
  CHECK(arch(longcat(R"("num_layers": 4, "num_hidden_layers": 8)")).layers == 4);
  CHECK(arch(longcat(R"("num_layers": 4)")).block == BlockKind::shortcut);
  CHECK(arch(longcat(R"("num_layers": 4, "zero_expert_num": null)")).moe.zero_experts == 0);
  CHECK_THAT(refusal(longcat(R"("num_layers": 4, "num_hidden_layers": 4)")), Catch::Contains("must be twice"));
  CHECK_THAT(refusal(longcat(R"("num_layers": 4, "zero_expert_type": "copy")")), Catch::Contains("must be"));
}
