// Pooled keys and keys selected by indexers.

#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("DeepSeek-V4 pools keys by the ratios in its config", "[import]") {
  const auto v4 = [](const char* ratios) {
    return small("deepseek_v4", std::string(R"("o_groups": 2, "sliding_window": 16, "compress_ratios": )") + ratios);
  };
  const Arch a = arch(v4("[0, 0, 4, 128, 4, 128, 4, 128, 0]"));  // the ninth is the MTP module's
  CHECK(a.compressed.ratio == 0);
  CHECK(a.local == LocalAttention{{16}, layers({0, 1})});
  CHECK(a.mixers[0].layers == layers({2, 4, 6}));
  CHECK(a.mixers[0].indexer.runs());
  CHECK(a.mixers[1].layers == layers({3, 5, 7}));
  CHECK(a.mixers[1].reach == Reach{16});
  CHECK(arch(small("deepseek_v4", R"("o_groups": 2)")).mixers[0].layers == layers({3, 5, 7}));
  CHECK_THAT(refusal(v4("[0, 0, 4]")), Catch::Contains("per layer (8), got 3"));
  CHECK_THAT(refusal(v4("[0, 0, 4, 128, 4, 128, 4, 7]")), Catch::Contains("expected 0, 4 or 128, got 7"));
}

TEST_CASE("an indexer's selection is shared across the configured layers", "[import]") {
  const auto shared = [](const char* keys) {
    const Arch a = arch(small("glm_moe_dsa", keys));
    return a.mixers.empty() ? LayerSet() : a.mixers[0].layers;
  };
  CHECK(shared("").empty());
  CHECK(shared(R"("index_topk_freq": 4, "index_skip_topk_offset": 3)") == layers({3, 4, 5, 7}));
  CHECK(shared(R"("index_topk_pattern": "FFSSFSSS")") == layers({2, 3, 5, 6, 7}));
  CHECK(shared(R"("indexer_types": ["full", "shared", "full", "full", "full", "full", "full", "shared", "full"])") ==
        layers({1, 7}));  // the ninth entry is the MTP layer's
  CHECK_THAT(refusal(small("glm_moe_dsa", R"("index_topk_pattern": "SFFFFFFF")")),
             Catch::Contains("no earlier layer has one"));
  CHECK_THAT(refusal(small("glm_moe_dsa", R"("index_topk_pattern": "FF")")), Catch::Contains("per layer (8), got 2"));
  CHECK_THAT(
      refusal(small("glm_moe_dsa", R"("first_k_dense_replace": 3, "mlp_layer_types": ["dense", "sparse", "sparse",
    "sparse", "sparse", "sparse", "sparse", "sparse"])")),
      Catch::Contains("make them agree"));
}

// GLM-5.2: layers 0, 1, 2, 6, 10, ..., 74 of 78 have an indexer of 2048 x 32 x 128 + 6144 x (128 + 32) + 2 x 128.
TEST_CASE("layers that share a selection have no indexer weights or cache", "[import]") {
  const Arch a = arch(part(R"({"model_type": "glm_moe_dsa", "index_topk_freq": 4, "index_skip_topk_offset": 3})"));
  CHECK(a.layers - a.mixers[0].layers.size() == 21);
  CHECK(test::parameters_of(a, "attn.index") == 21 * (2048 * 32 * 128 + 6144 * (128 + 32) + 256));
  CHECK(cache_elements_per_token(a) == 78 * 576 + 21 * 128);
}

TEST_CASE("MiniMax-M3 has block-sparse attention in the layers in its list", "[import]") {
  const auto m3 = [](const char* keys) {
    return small("minimax_m3", std::string(R"("sparse_attention_config": {)") + keys + "}");
  };
  const Arch a = arch(m3(R"("sparse_attention_freq": [0, 0, 1, 1, 1, 1, 1, 1])"));
  CHECK(a.indexer.kind == IndexerKind::none);
  CHECK(a.mixers[0].layers == LayerSet::every(2, 1, 8));
  CHECK(a.mixers[0].indexer.selection() == Selection{2048, 128});
  CHECK_THAT(refusal(m3(R"("sparse_local_block": 2)")), Catch::Contains("other fixed blocks"));
  CHECK_THAT(refusal(m3(R"("sparse_disable_index_value": [0, 0, 0, 0, 0, 0, 0, 0])")),
             Catch::Contains("indexer with values"));
  CHECK_THAT(refusal(small("minimax_m3", R"("attention_output_gate": true)")), Catch::Contains("shape is unknown"));
}
