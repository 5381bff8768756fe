// Quantized checkpoints of 2025 and 2026 with different formats by layer, compared with published sizes. Tensors
// outside the text model are counted by hand: vision encoders (transformers classes), prediction layers.

#include <fmt/format.h>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/released.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using test::released;

namespace {

Count stored_bytes(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p).value;
}

constexpr Count block = 128 * 128;

/// Qwen3.5: embedding, head, norms, convolutions, decays, routers and the gate of shared experts stay in 16 bits.
const std::string qwen_block = R"({"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert":
  ["lm_head", "embed_tokens", "in_proj_a", "in_proj_b", "mlp.gate", "shared_expert_gate", "visual"]})";

}  // namespace

// Qwen/Qwen3.5-27B-FP8: 30866680160 bytes of tensors (safetensors index). Scales are bf16. A_log and the gated norm in
// each of 48 DeltaNet layers are float32.
TEST_CASE("Qwen3.5 27B in fp8 has the published number of bytes", "[quantized]") {
  constexpr Count d = 5120, vision = 460730096;
  constexpr Count attention = d * 2 * 6144 + 2 * d * 1024 + 6144 * d, mlp = 3 * d * 17408, fp8 = attention + mlp;
  constexpr Count sixteen = 2 * d * d + 5 * d + 2 * 256;  // projection of two concatenated hidden states, norms
  constexpr Count prediction = fp8 + fp8 / block * 2 + 2 * sixteen;
  constexpr Count in_float32 = 48 * (48 + 128);
  const ModelCard card = released("Qwen3.5-27B", qwen_block);
  CHECK(stored_bytes(card) == 30866680160 - 2 * vision - prediction - 2 * in_float32);
}

// Qwen/Qwen3.5-35B-A3B-FP8: 35953925552 elements, including scales (Hugging Face's count).
TEST_CASE("Qwen3.5 35B-A3B in fp8 has the published number of elements", "[quantized]") {
  constexpr Count d = 2048, vision = 446571248;
  constexpr Count attention = d * 2 * 4096 + 2 * d * 512 + 4096 * d, experts = 257 * 3 * d * 512;
  constexpr Count fp8 = attention + experts;  // fp8 elements in the prediction layer
  constexpr Count prediction = fp8 + fp8 / block + 2 * d * d + 256 * d + d + 5 * d + 2 * 256;
  const ModelCard card = released("Qwen3.5-35B-A3B", qwen_block);
  const Count numbers = parameters(card.arch).total, in_fp8 = 34453061632 - fp8;
  const Count scales = (stored_bytes(card) - in_fp8 - 2 * (numbers - in_fp8)) / 2;
  CHECK(numbers + scales == 35953925552 - vision - prediction);
}

// stepfun-ai/Step-3.5-Flash-FP8: 199395913536 elements, 11612160 float32 scales more than the 16-bit file. Only routed
// experts are in fp8.
TEST_CASE("Step 3.5 Flash in fp8 has the published number of scales", "[quantized]") {
  const ModelCard card = released("Step-3.5-Flash", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["self_attn", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "share_expert",
    "lm_head"]})");
  const Count experts = Count{42} * 288 * 3 * 1280 * 4096;
  const Count numbers = parameters(card.arch).total;
  CHECK(weight_formats_text(*card.weights) == "fp8-block (experts), bf16");
  CHECK((stored_bytes(card) - experts - 2 * (numbers - experts)) / 4 == 199395913536 - 199384301376);
}

// nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4: 18237772608 elements, with two parameters per byte. Includes an e4m3
// scale per 16 and 23 x 128 router biases, but not the two float32 scales per matrix.
TEST_CASE("Nemotron 3 Nano in nvfp4 has the published number of elements", "[quantized]") {
  std::string excluded = R"("lm_head")";
  for (const int attention : {5, 12, 19, 26, 33, 42}) {
    const auto layer = [](int i) { return ", \"backbone.layers." + std::to_string(i) + ".mixer."; };
    for (const char* name : {"in_proj\"", "out_proj\""}) excluded += layer(attention - 1) + name;
    for (const char* name : {"q_proj\"", "k_proj\"", "v_proj\"", "o_proj\""}) excluded += layer(attention) + name;
  }
  const ModelCard card = released("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", R"({"producer": {"name": "modelopt"},
    "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": [)" +
                                                                             excluded + "]}}");
  constexpr Count d = 2688, inner = 64 * 64, gates = 2 * 8 * 128 + 64, mamba = d * (2 * inner + gates) + inner * d;
  constexpr Count packed = 17 * mamba + 23 * (128 * 2 * d * 1856 + 2 * d * 3712), matrices = 17 * 2 + 23 * (256 + 2);
  const Count numbers = parameters(card.arch).total;
  CHECK(stored_bytes(card) == packed / 2 + packed / 16 + 8 * matrices + 2 * (numbers - packed));
  CHECK(numbers - packed + packed / 2 + packed / 16 + 23 * 128 == 18237772608);
}

// unsloth/granite-4.0-h-small-GGUF in Q8_0: 32207337984 parameters in 34261297152 bytes of tensors (llama.cpp).
TEST_CASE("a GGUF file of Granite 4.0 H Small has the published number of bytes", "[mix]") {
  json::Value types = json::Value::array();
  for (int i = 0; i < 40; ++i) types.push_back(i % 10 == 5 ? "attention" : "mamba");
  const json::Value config = {{"model_type", "granitemoehybrid"},
                              {"num_hidden_layers", 40},
                              {"layer_types", types},
                              {"hidden_size", 4096},
                              {"num_attention_heads", 32},
                              {"num_key_value_heads", 8},
                              {"intermediate_size", 768},
                              {"shared_intermediate_size", 1536},
                              {"num_local_experts", 72},
                              {"num_experts_per_tok", 10},
                              {"mamba_n_heads", 128},
                              {"mamba_d_head", 64},
                              {"mamba_d_state", 128},
                              {"mamba_n_groups", 1},
                              {"mamba_d_conv", 4},
                              {"vocab_size", 100352},
                              {"max_position_embeddings", 131072},
                              {"tie_word_embeddings", true}};
  const Arch a = import_config(config, "c.json").arch;
  CHECK(parameters(a).total == 32207337984);
  Plan p;
  p.weight_precision = gguf_mix(a, "q8_0", "granitemoehybrid");
  CHECK(weights_bytes(a, p) == Bytes(34261297152));
}

// nvidia/DeepSeek-V4-Flash-NVFP4: 166726476754 elements, including nvfp4 scales but no others. The fp4 checkpoint has
// 158069433298. The MTP module's experts stay in fp4.
TEST_CASE("the bytes of DeepSeek-V4 Flash in nvfp4 include the scales of its experts", "[quantized]") {
  std::string layers;
  for (Count i = 0; i < 43; ++i)
    layers +=
        (i > 0 ? ", " : "") + fmt::format(R"("layers.{}.ffn.experts": {{"quant_algo": "NVFP4", "group_size": 16}})", i);
  const std::string fp8 = R"("quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic")";
  const ModelCard as_shipped = released("DeepSeek-V4-Flash", "{" + fp8 + "}");
  const ModelCard in_nvfp4 =
      released("DeepSeek-V4-Flash", "{" + fp8 + R"(, "quant_algo": "MIXED_PRECISION", "ignore": ["*.attn.*"],
      "config_groups": {"group_0": {}}, "quantized_layers": {)" +
                                        layers + "}}");
  constexpr Count matrices = 43 * 256 * 3, numbers = matrices * 4096 * 2048;
  CHECK(numbers / 16 - numbers / 32 == 166726476754 - 158069433298);
  CHECK(stored_bytes(in_nvfp4) - stored_bytes(as_shipped) == numbers / 16 - numbers / 32 + 8 * matrices);
}

// microsoft/bitnet-b1.58-2B-4T: 849787090 elements: four ternary values per byte, and a bf16 scale for each of 210
// matrices. With "online" the matrices are in bf16.
TEST_CASE("BitNet b1.58 2B4T has the published number of elements and bytes", "[quantized]") {
  constexpr Count matrices = 30 * (2 * 2560 * 2560 + 2 * 640 * 2560 + 3 * 2560 * 6912), packed = matrices / 4;
  constexpr Count others = 849787090 - packed - 210;
  const std::string config = R"({"model_type": "bitnet", "hidden_act": "relu2", "hidden_size": 2560,
    "intermediate_size": 6912, "max_position_embeddings": 4096, "num_attention_heads": 20, "num_hidden_layers": 30,
    "num_key_value_heads": 5, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 128256,
    "quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": ")";
  const ModelCard card = import_config(json::parse(config + R"(offline"}})", "c.json"), "c.json");
  CHECK(parameters(card.arch).total == matrices + others);
  CHECK(stored_bytes(card) == packed + 2 * (others + 210));
  CHECK((*card.weights)[Component::mlp].name() == "ternary");
  const ModelCard online = import_config(json::parse(config + R"(online"}})", "c.json"), "c.json");
  CHECK(stored_bytes(online) == 2 * (matrices + others));
}

TEST_CASE("an unsupported setting of BitNet is rejected", "[schemes]") {
  const auto says = [](const std::string& more) {
    return llmcalc::test::sentence([&] { released("Qwen3.5-27B", R"({"quant_method": "bitnet", )" + more + "}"); });
  };
  CHECK_THAT(says(R"("quantization_mode": "late")"), Catch::Contains("quantization_mode late is not supported"));
  CHECK_THAT(says(R"("linear_class": "dense")"), Catch::Contains("linear_class dense is not supported"));
  CHECK_THAT(says(R"("use_rms_norm": true)"), Catch::Contains("use_rms_norm"));
}
