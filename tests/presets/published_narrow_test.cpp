// Presets of models that are published in fewer than 16 bits alone: they hold what their checkpoints hold.

#include <string>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/released.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Bytes of all weights, with all modules for further tokens or without.
Count bytes(const ModelCard& card, bool modules = false) {
  Plan p;
  p.weight_precision = *card.weights;
  p.mtp = modules ? card.arch.mtp.modules : 0;
  return weights_bytes(card.arch, p).value;
}

const std::string fp8 = R"({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})";
const std::string mxfp4 = R"({"quant_method": "mxfp4", "modules_to_not_convert":
  ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})";

/// A preset, the config of its checkpoint, and the config's quantisation block where the config here has none.
struct Published {
  const char *preset, *config;
  std::string block{};
};

ModelCard imported(const Published& p) {
  return p.block.empty() ? import_config(released_config(p.config), "c.json") : released(p.config, p.block);
}

}  // namespace

TEST_CASE("a preset of a model published in fewer bits has the formats and bytes of its config", "[quantized]") {
  const std::vector<Published> all{
      {"deepseek-v3", "deepseek-v3", fp8},
      {"deepseek-r1", "deepseek-r1", fp8},
      {"deepseek-v3.1", "deepseek-v3.1", fp8},
      {"deepseek-v3.2", "DeepSeek-V3.2"},
      {"deepseek-v4-flash", "DeepSeek-V4-Flash"},
      {"kimi-k2", "kimi-k2", fp8},
      {"kimi-k2.5", "Kimi-K2.5"},
      {"minimax-m2", "MiniMax-M2.5"},
      {"devstral-2-123b", "Devstral-2-123B"},
      {"gpt-oss-20b", "gpt-oss-20b", mxfp4},
      {"gpt-oss-120b", "gpt-oss-120b", mxfp4},
      {"mimo-v2-flash", "MiMo-V2-Flash", R"({"quant_method": "fp8", "activation_scheme": "dynamic",
        "weight_block_size": [128, 128], "ignored_layers": ["o_proj"]})"}};
  for (const Published& p : all) {
    INFO(p.preset);
    const ModelCard preset = load_model(p.preset), config = imported(p);
    REQUIRE(preset.weights);
    CHECK_FALSE(preset.weights->plain());
    CHECK(preset.weights == config.weights);
    CHECK(preset.products == config.products);
    CHECK(preset.product_parts == config.product_parts);
  }
}

// The index's total_size: openai/gpt-oss-20b.
TEST_CASE("the presets of gpt-oss hold their checkpoints' bytes", "[quantized]") {
  CHECK(bytes(load_model("gpt-oss-20b")) == 13761264768);
  // 36 layers of 128 experts: a byte of scale for 32 numbers of 4 bits; Hugging Face counts numbers and scales.
  const ModelCard large = load_model("gpt-oss-120b");
  constexpr Count packed = Count{36} * 128 * 3 * 2880 * 2880;
  const Count numbers = parameters(large.arch).total;
  CHECK(numbers + packed / 32 == *large.stored);
  CHECK(bytes(large) == packed / 2 + packed / 32 + 2 * (numbers - packed));
}

// moonshotai/Kimi-K2.5: 595148192736 bytes. Beside the text model there are 471136112 numbers of the vision tower and
// 60 x 384 router biases in bf16. The shapes of 60 x 384 x 3 packed matrices, of which each has 16 bytes here, have 8;
// 61696 bytes are not explained.
TEST_CASE("the preset of Kimi K2.5 holds its checkpoint's bytes but 61696", "[quantized]") {
  constexpr Count matrices = 60 * 384 * 3;
  CHECK(bytes(load_model("kimi-k2.5")) - 8 * matrices + 2 * 471136112 + 2 * 60 * 384 == 595148192736 - 61696);
}

// moonshotai/Kimi-K3: 1560860324864 bytes. In float32 instead of bf16 are convolutions, biases of steps, decays and
// gated norms of 69 layers; of 896 router biases in each of 92 layers, and of 128 decays for 96 heads, nothing is
// counted here.
TEST_CASE("the preset of Kimi K3 holds its checkpoint's bytes", "[quantized]") {
  const ModelCard card = load_model("kimi-k3");
  constexpr Count wider = 10174464 + 847872 + 69 * (96 + 128), biases = 92 * 896, unused = 69 * (128 - 96);
  CHECK(bytes(card) + card.towers.bytes().value + 2 * wider + 4 * (biases + unused) == 1560860324864);
}

// deepseek-ai/DeepSeek-V3.2: 685396921376 numbers, float32 scales among them; 681408069632 are in fp8. Beside what is
// counted here the module has table and head of its own, and 59 routers 256 biases each. A LayerNorm of the indexer's
// keys has a bias.
TEST_CASE("the preset of DeepSeek V3.2 holds its checkpoint's numbers", "[quantized]") {
  const ModelCard card = load_model("deepseek-v3.2");
  constexpr Count in_fp8 = 681408069632, tables = Count{2} * 129280 * 7168, biases = 59 * 256;
  const Count numbers = parameters(card.arch).total + mtp_parameters(card.arch).total;
  const Count scales = (bytes(card, true) - in_fp8 - 2 * (numbers - in_fp8)) / 4;
  CHECK(numbers + scales + tables + biases == 685396921376);
}

// XiaomiMiMo/MiMo-V2-Flash: 309785318400 numbers, float32 scales among them. Beside them 47 routers have 256 biases
// each, and 576 numbers are not explained, as many as sinks of 9 whole layers. There is room for scales of all matrices
// but attention's output projections, each of which would have 32 x 64.
TEST_CASE("the preset of MiMo V2 Flash holds its checkpoint's numbers", "[quantized]") {
  const ModelCard card = load_model("mimo-v2-flash");
  constexpr Count q = Count{12288} * 4096, mlp = Count{3} * 16384 * 4096, experts = Count{47} * 256 * 3 * 2048 * 4096;
  constexpr Count windows = q + (1536 + 1024) * 4096, whole = q + (768 + 512) * 4096;
  constexpr Count in_fp8 = 9 * whole + 39 * windows + mlp + experts + 3 * (windows + mlp);
  const Count numbers = parameters(card.arch).total + mtp_parameters(card.arch).total;
  const Count scales = (bytes(card, true) - in_fp8 - 2 * (numbers - in_fp8)) / 4;
  CHECK(scales == in_fp8 / (128 * 128));
  CHECK(numbers + scales + 47 * 256 + 576 == 309785318400);
}

// Two bytes of each number.
TEST_CASE("a model published in fewer bits trains in 16", "[quantized]") {
  for (const char* name : {"gpt-oss-120b", "deepseek-v3", "kimi-k2.5", "devstral-2-123b"}) {
    const ModelCard card = load_model(name);
    Plan p;
    p.weight_precision = *card.weights;
    CHECK(training_memory(card.arch, p).weights == Bytes(mul(2, parameters(card.arch).total)));
  }
}
