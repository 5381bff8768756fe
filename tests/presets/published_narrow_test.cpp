// Presets of models published only in fewer than 16 bits match the bytes of their checkpoints.

#include <string>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/released.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Bytes of all weights, with or without all MTP modules.
Count bytes(const ModelCard& card, bool modules = false) {
  Plan p;
  p.weight_precision = *card.weights;
  p.mtp = modules ? card.arch.mtp.modules : 0;
  return weights_bytes(card.arch, p).value;
}

const std::string fp8 = R"({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})";
const std::string mxfp4 = R"({"quant_method": "mxfp4", "modules_to_not_convert":
  ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})";

/// A preset, its checkpoint's config, and the quantization block if the stored config lacks it.
struct Published {
  const char *preset, *config;
  std::string block{};
};

ModelCard imported(const Published& p) {
  return p.block.empty() ? import_config(released_config(p.config), "c.json") : released(p.config, p.block);
}

}  // namespace

TEST_CASE("a preset of a model published in low precision has the formats and bytes of its config", "[quantized]") {
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
TEST_CASE("the gpt-oss presets match the bytes of their checkpoints", "[quantized]") {
  CHECK(bytes(load_model("gpt-oss-20b")) == 13761264768);
  // 36 layers of 128 experts: a one-byte scale per 32 elements of 4 bits. Hugging Face counts elements and scales.
  const ModelCard large = load_model("gpt-oss-120b");
  constexpr Count packed = Count{36} * 128 * 3 * 2880 * 2880;
  const Count numbers = parameters(large.arch).total;
  CHECK(numbers + packed / 32 == *large.stored);
  CHECK(bytes(large) == packed / 2 + packed / 32 + 2 * (numbers - packed));
}

// moonshotai/Kimi-K2.5: 595148192736 bytes. Outside the text model are 471136112 parameters of the vision encoder and
// 60 x 384 router biases in bf16. The shapes of 60 x 384 x 3 packed matrices have 8 bytes each there and 16 here; 61696
// bytes are unexplained.
TEST_CASE("the Kimi K2.5 preset matches the bytes of its checkpoint except for 61696 bytes", "[quantized]") {
  constexpr Count matrices = 60 * 384 * 3;
  CHECK(bytes(load_model("kimi-k2.5")) - 8 * matrices + 2 * 471136112 + 2 * 60 * 384 == 595148192736 - 61696);
}

// moonshotai/Kimi-K3: 1560860324864 bytes. Convolutions, step biases, decays and gated norms of 69 layers are in
// float32 instead of bf16. Not counted here: 896 router biases in each of 92 layers, and the unused ones of 128 decays
// for 96 heads.
TEST_CASE("the Kimi K3 preset matches the bytes of its checkpoint", "[quantized]") {
  const ModelCard card = load_model("kimi-k3");
  constexpr Count wider = 10174464 + 847872 + 69 * (96 + 128), biases = 92 * 896, unused = 69 * (128 - 96);
  CHECK(bytes(card) + card.media_encoders.bytes().value + 2 * wider + 4 * (biases + unused) == 1560860324864);
}

// deepseek-ai/DeepSeek-V3.2: 685396921376 elements, including float32 scales; 681408069632 are in fp8. Not counted
// here: the MTP module's own table and head, and 256 biases in each of 59 routers. The LayerNorm of the indexer's keys
// has a bias.
TEST_CASE("the DeepSeek V3.2 preset matches the element count of its checkpoint", "[quantized]") {
  const ModelCard card = load_model("deepseek-v3.2");
  constexpr Count in_fp8 = 681408069632, tables = Count{2} * 129280 * 7168, biases = 59 * 256;
  const Count numbers = parameters(card.arch).total + mtp_parameters(card.arch).total;
  const Count scales = (bytes(card, true) - in_fp8 - 2 * (numbers - in_fp8)) / 4;
  CHECK(numbers + scales + tables + biases == 685396921376);
}

// XiaomiMiMo/MiMo-V2-Flash: 309785318400 elements, including float32 scales. Not counted here: 256 biases in each of 47
// routers, and 576 unexplained elements, as many as sinks of 9 full layers. The total leaves scales for all matrices
// except attention's output projections, which would have 32 x 64 each.
TEST_CASE("the MiMo V2 Flash preset matches the element count of its checkpoint", "[quantized]") {
  const ModelCard card = load_model("mimo-v2-flash");
  constexpr Count q = Count{12288} * 4096, mlp = Count{3} * 16384 * 4096, experts = Count{47} * 256 * 3 * 2048 * 4096;
  constexpr Count windows = q + (1536 + 1024) * 4096, whole = q + (768 + 512) * 4096;
  constexpr Count in_fp8 = 9 * whole + 39 * windows + mlp + experts + 3 * (windows + mlp);
  const Count numbers = parameters(card.arch).total + mtp_parameters(card.arch).total;
  const Count scales = (bytes(card, true) - in_fp8 - 2 * (numbers - in_fp8)) / 4;
  CHECK(scales == in_fp8 / (128 * 128));
  CHECK(numbers + scales + 47 * 256 + 576 == 309785318400);
}

// Two bytes per parameter.
TEST_CASE("a model published in low precision trains in 16 bits", "[quantized]") {
  for (const char* name : {"gpt-oss-120b", "deepseek-v3", "kimi-k2.5", "devstral-2-123b"}) {
    const ModelCard card = load_model(name);
    Plan p;
    p.weight_precision = *card.weights;
    CHECK(training_memory(card.arch, p).weights == Bytes(mul(2, parameters(card.arch).total)));
  }
}
