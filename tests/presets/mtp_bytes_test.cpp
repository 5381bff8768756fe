// Bytes of MTP modules in quantized checkpoints, counted by hand: the weights that `--mtp` adds.

#include <string>
#include <vector>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/released.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Weight bytes on one of `tp` ranks with the given number of MTP modules.
Count weights(const ModelCard& card, Count modules, Count tp = 1) {
  Plan p;
  p.weight_precision = *card.weights;
  p.mtp = modules;
  return weights_bytes(card.arch, p, {.tp = tp}).value;
}

/// Weight bytes that the MTP modules add.
Count added(const ModelCard& card, Count modules = 1) { return weights(card, modules) - weights(card, 0); }

std::string nvfp4(const std::string& saved) {
  return R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["lm_head", ")" + saved +
         "\"]}";
}

const std::string fp8_block = R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";

/// DeepSeek-V3's layer: latent attention, 256 experts and a shared one.
constexpr Count d = 7168, matrices = d * 1536 + 1536 * 128 * 192 + d * 576 + 512 * 128 * 256 + 128 * 128 * d,
                experts = 257 * 3 * d * 2048, beside = 256 * d + 2 * d * d,  // router, input projection
    norms = 1536 + 512 + 5 * d;

}  // namespace

// Modules in the block's list stay in bf16. nvidia/Qwen3.5-397B-A17B-NVFP4, Qwen3.6-27B-NVFP4 (the sizes of
// Qwen3.5-27B), DeepSeek-V3.1-NVFP4 and GLM-5.1-NVFP4.
TEST_CASE("16-bit MTP modules in quantized checkpoints add their published bytes", "[quantized][mtp]") {
  // Full attention with a gate in its queries, 512 experts and a shared one with a gate, input projection, norms.
  constexpr Count q = 4096, gated = q * 32 * 256 * 2 + 2 * q * 2 * 256 + 32 * 256 * q + 2 * 256;
  constexpr Count mixture = 513 * 3 * q * 1024 + 512 * q + q;
  STATIC_REQUIRE(2 * (gated + mixture + 2 * q * q + 5 * q) == 13191136256);
  CHECK(added(released("Qwen3.5-397B-A17B", nvfp4("mtp.layers.0*"))) == 13191136256);
  // 24 heads with 4 KV heads, a dense MLP.
  constexpr Count w = 5120, dense = w * 24 * 256 * 2 + 2 * w * 4 * 256 + 24 * 256 * w + 2 * 256 + 3 * w * 17408;
  STATIC_REQUIRE(2 * (dense + 2 * w * w + 5 * w) == 849398784);
  CHECK(added(released("Qwen3.5-27B", nvfp4("mtp*"))) == 849398784);
  STATIC_REQUIRE(2 * (matrices + experts + beside + norms) == 23220135936);
  CHECK(added(released("deepseek-v3.1", nvfp4("model.layers.61*"))) == 23220135936);
  // Latent attention with 64 heads, an indexer with a LayerNorm, 256 experts and a shared one.
  constexpr Count g = 6144, latent = g * 2048 + 2048 + 2048 * 64 * 256 + g * 576 + 512 + 512 * 64 * 448 + 64 * 256 * g;
  constexpr Count indexer = 2048 * 32 * 128 + g * 128 + 2 * 128 + g * 32;
  STATIC_REQUIRE(2 * (latent + indexer + 257 * 3 * g * 2048 + 256 * g + 2 * g * g + 5 * g) == 19905840640);
  CHECK(added(released("GLM-5", nvfp4("model.layers.78*"))) == 19905840640);
}

// DeepSeek-V3's own checkpoint: blocks of 128 x 128 with a float32 scale. The router, the input projection and norms
// stay in bf16. The width 576 ends in a partial block.
TEST_CASE("MTP modules that no list excludes are quantized like the model's layers", "[quantized][mtp]") {
  constexpr Count kv_a = d * 576, scales = (matrices + experts - kv_a) / (128 * 128) + 56 * 5;
  const ModelCard card = released("deepseek-v3", fp8_block);
  CHECK(added(card) == matrices + experts + 4 * scales + 2 * (beside + norms));
  CHECK(added(card) == 11717510368);
}

// deepseek-ai/DeepSeek-V4-Flash: 158069433298 elements, with two expert parameters per element and one-byte scales per
// 32 of these and per block of 128 x 128. 10496 router biases and 2327040 table entries are outside the model.
TEST_CASE("DeepSeek-V4's MTP module has fp8 projections, and its file has the published number of elements",
          "[quantized][mtp]") {
  const ModelCard card = import_config(released_config("DeepSeek-V4-Flash"), "c.json");
  constexpr Count w = 4096, fp4 = 44 * 256 * 3 * w * 2048;
  constexpr Count attention = w * 1024 + 1024 * 64 * 512 + w * 512 + 8 * 1024 * w + 8 * 1024 * w;
  constexpr Count fp8 = 44 * (attention + 3 * w * 2048) + 21 * 64 * 128 * 1024 + 2 * w * w;
  const Count all = parameters(card.arch).total + mtp_parameters(card.arch).total, wide = all - fp4 - fp8;
  CHECK(weights(card, 1) - wide == 158069433298 - 10496 - 2327040);
}

TEST_CASE("LongCat-Flash's MTP module has attention, a dense MLP and a token embedding", "[quantized][mtp]") {
  const ModelCard card = import_config(released_config("LongCat-Flash-Chat"), "c.json");
  REQUIRE(card.arch.mtp.modules == 1);
  CHECK(mtp_parameters(card.arch).total == 561862880256 - 560664980480);
  const std::string none =
      R"({"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["mtp"]})";
  CHECK(added(released("LongCat-Flash-Chat", none)) == 2 * mtp_parameters(card.arch).total);
  CHECK(added(released("LongCat-Flash-Chat", fp8_block)) < 2 * mtp_parameters(card.arch).total);
}

// If a list names single matrices of a module, all others are packed: 4 bits per element, a one-byte scale per 16
// elements and two float32 scales per matrix.
TEST_CASE("an exclusion list can select individual matrices of an MTP module", "[quantized][mtp]") {
  const auto packed = [](Count n, Count tensors) { return n / 2 + n / 16 + 8 * tensors; };
  const Count all = added(released("deepseek-v3.1", nvfp4("none")));
  CHECK(all == packed(matrices + experts, 5 + 257 * 3) + 2 * (beside + norms));
  const Count without_attention = added(released("deepseek-v3.1", nvfp4("model.layers.61.self_attn*")));
  CHECK(without_attention - all == 2 * matrices - packed(matrices, 5));
  const Count of_layer_0 = added(released("deepseek-v3.1", nvfp4("model.layers.0*")));
  CHECK(of_layer_0 == all);
}

TEST_CASE("module names in each family's style select its MTP modules", "[quantized][mtp]") {
  const auto saved = [](const char* name, const char* pattern) {
    const ModelCard card = released(name, nvfp4(pattern));
    INFO(name << ", " << pattern);
    CHECK(added(card, card.arch.mtp.modules) == 2 * mtp_parameters(card.arch).total);
    CHECK(added(card, card.arch.mtp.modules) > added(released(name, nvfp4("none")), card.arch.mtp.modules));
  };
  saved("deepseek-v3", "model.layers.61");
  saved("DeepSeek-V3.2", "re:.*layers\\\\.61\\\\..*");
  saved("glm-4.5", "model.layers.92*");
  saved("GLM-4.7-Flash", "model.layers.47");
  saved("MiMo-7B-Base", "model.mtp_layers*");
  saved("MiMo-V2-Flash", "model.mtp.layers.*");
  saved("Qwen3-Next-80B-A3B", "mtp");
  saved("Qwen3.5-35B-A3B", "re:^mtp.*");
  saved("Step-3.5-Flash", "re:model\\\\.layers\\\\.4[5-7]\\\\..*");
  saved("NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "mtp*");
}

TEST_CASE("an MTP module of two layers has attention in the first layer and experts in the second",
          "[quantized][mtp]") {
  const auto bytes = [](const char* saved) {
    return added(released("NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", nvfp4(saved)));
  };
  const Count none = bytes("none"), first = bytes("mtp.layers.0*"), second = bytes("mtp.layers.1*");
  CHECK(first > none);
  CHECK(second > first);
  CHECK(first - none + second == bytes("mtp.layers*"));
}

TEST_CASE("an MTP module's input projection is quantized if a quantization config names it", "[quantized][mtp]") {
  const std::string block = R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
    "mtp.fc": {"quant_algo": "FP8"}}})";
  constexpr Count w = 5120, join = 2 * w * w;
  CHECK(added(released("Qwen3.5-27B", block)) == 849398784 - join + 4 + 4);  // scales of the matrix and its input
}

TEST_CASE("one of several MTP modules has its share of the bytes; two ranks halve its sharded matrices",
          "[quantized][mtp]") {
  const ModelCard card = released("MiMo-V2-Flash", nvfp4("model.mtp.layers.*"));
  REQUIRE(card.arch.mtp.modules == 3);
  CHECK(3 * added(card, 1) == added(card, 3));
  const ModelCard whole = released("Qwen3.5-27B", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["mtp"]})");
  constexpr Count w = 5120, on_every_rank = 2 * (2 * w * w + 5 * w + 2 * 256);  // input projection and norms
  const Count half = weights(whole, 1, 2) - weights(whole, 0, 2);
  CHECK(2 * half == 849398784 + on_every_rank);
}

TEST_CASE("a model file preserves the bytes of MTP modules", "[quantized][mtp]") {
  for (const char* saved : {"model.layers.61*", "model.layers.61.mlp*", "none"}) {
    const ModelCard card = released("deepseek-v3.1", nvfp4(saved));
    const ModelCard again = read_model_file(model_file_json(card), "m.json");
    CHECK(*again.weights == *card.weights);
    CHECK(added(again) == added(card));
  }
}

TEST_CASE("bytes of MTP modules are rejected for a model without modules or for an unknown component",
          "[quantized][mtp]") {
  const auto refused = [](const char* model, const std::string& bytes) {
    json::Value v = model_file_json(load_model(model));
    v["weights"] = {{"all", "bf16"}};
    v["stored_bytes"] = json::parse(bytes, "bytes");
    return sentence([&] { read_model_file(v, "m.json"); });
  };
  CHECK_THAT(refused("llama-2-7b", R"({"mtp": {"attention": 5}})"), Catch::Contains("no MTP modules"));
  CHECK_THAT(refused("deepseek-v3", R"({"mtp": {"mtp": {}}})"), Catch::Contains("unknown key \"mtp\""));
  CHECK_THAT(refused("deepseek-v3", R"({"mtp": {"experts": 900000000000000}})"), Catch::Contains("expected at most"));
}
