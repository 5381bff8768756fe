// Checkpoints with published tensor bytes, and their 16-bit tensors.

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/import/import.hpp"
#include "presets/import/quantization/scheme.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/released.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using test::released_config;
using test::sentence;

namespace {

/// MiniMaxAI/MiniMax-M2.5 and moonshotai/Kimi-K2-Instruct: the sizes in their config.json.
const std::string minimax = R"({"model_type": "minimax_m2", "num_hidden_layers": 62, "hidden_size": 3072,
  "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 1536, "vocab_size": 200064,
  "num_experts_per_tok": 8, "num_local_experts": 256, "max_position_embeddings": 196608, "use_qk_norm": true,
  "use_routing_bias": true, "shared_intermediate_size": 0, "tie_word_embeddings": false})";
const std::string kimi = R"({"model_type": "kimi_k2", "num_hidden_layers": 61, "hidden_size": 7168,
  "num_attention_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "v_head_dim": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 384,
  "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 163840,
  "max_position_embeddings": 131072, "tie_word_embeddings": false})";

ModelCard quantized(const std::string& name, const std::string& block) {
  json::Value v = name.starts_with("{") ? json::parse(name, "config") : released_config(name);
  v["quantization_config"] = json::parse(block, "block");
  return import_config(v, "c.json");
}

Count bytes(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p).value;
}

std::string refusal(const std::string& block) {
  return sentence([&] { quantized("llama-3.1-8b", block); });
}

/// Bytes of all weights in `formats`, which are given as in a model file.
Count bytes_in(const std::string& name, const char* formats) {
  ModelCard card = import_config(released_config(name), "c.json");
  const json::Value v = json::parse(formats, "formats");
  card.weights = read_weight_formats(json::Object(v, "formats"));
  return bytes(card);
}

const std::string deepseek_block = R"({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
  "weight_block_size": [128, 128]})";

}  // namespace

// Sums over the checkpoints' tensors: the index's total_size, or all data_offsets in the safetensors headers.
TEST_CASE("a quantized checkpoint has the published number of bytes", "[quantized]") {
  // openai/gpt-oss-20b: experts mxfp4; attention, sinks, router, biases, embedding, head and norms bf16.
  CHECK(bytes(quantized("gpt-oss-20b", R"({"quant_method": "mxfp4", "modules_to_not_convert":
    ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})")) == 13761264768);
  // RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic: a bf16 scale per row of the layers' matrices.
  CHECK(bytes(quantized("llama-3.1-8b", R"({"quant_method": "compressed-tensors", "format": "float-quantized",
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float",
    "strategy": "channel", "symmetric": true, "dynamic": false}}}, "ignore": ["lm_head"]})")) == 9083953152);
  // RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16: g_idx and a bias for every matrix.
  CHECK(bytes(quantized("llama-3.1-8b", R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
    "desc_act": true, "sym": true})")) == 5735587840);
  // hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4.
  CHECK(bytes(quantized("llama-3.1-70b", R"({"quant_method": "awq", "bits": 4, "group_size": 128,
    "zero_point": true, "version": "gemm", "modules_to_not_convert": null})")) == 39767785472);
  // nvidia/Llama-3.3-70B-Instruct-FP4, with the shape of 3.1: two float32 scales for each of 560 matrices.
  CHECK(bytes(quantized("llama-3.1-70b", R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4",
    "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}})")) == 42709045632);
}

// deepseek-ai/DeepSeek-V3 has 680571043840 elements in fp8, 3918786560 in bf16 and 41555600 in float32 (Hugging Face's
// counts by dtype). Not counted here: its prediction layer, and 256 router biases in each of 58 layers.
TEST_CASE("DeepSeek-V3 has the published number of bytes minus the MTP module and buffers", "[quantized]") {
  constexpr Count h = 7168, table = 129280 * h;
  // q_a, q_b, kv_a, kv_b, o; 257 experts with three matrices.
  constexpr Count attention = h * 1536 + 1536 * 24576 + h * 576 + 512 * 32768 + 16384 * h, experts = 257 * 3 * h * 2048;
  constexpr Count attention_blocks = 56 * 12 + 12 * 192 + 56 * 5 + 4 * 256 + 128 * 56,
                  expert_blocks = 257 * 3 * 56 * 16;
  // Five norms of the hidden width and two of the latent ranks, projection of two concatenated hidden states, router,
  // another table and head.
  constexpr Count sixteen = 5 * h + 1536 + 512 + 2 * h * h + 256 * h + 2 * table;
  constexpr Count prediction = attention + experts + 2 * sixteen + 4 * (attention_blocks + expert_blocks + 256);
  constexpr Count published = 680571043840 + 2 * 3918786560 + 4 * 41555600, buffers = 4 * 58 * 256;
  CHECK(bytes(quantized("deepseek-v3", deepseek_block)) == published - prediction - buffers);
}

// Tensor bytes of GGUF files: file minus header (llama.cpp leaves norms and routers in float32).
TEST_CASE("a GGUF file with one type has the published number of bytes", "[quantized]") {
  CHECK(bytes_in("llama-2-7b", R"({"all": "q8_0", "norm": "fp32"})") == 7161089728 - 741056);
  // Llama 3.1 has 64 rotary factors in float32.
  CHECK(bytes_in("llama-3.1-8b", R"({"all": "q8_0", "norm": "fp32"})") == 8540775840 - 7840928 - 4 * 64);
  CHECK(bytes_in("qwen3-30b-a3b", R"({"all": "q8_0", "norm": "fp32", "router": "fp32"})") == 32483932576 - 5970336);
}

TEST_CASE("modules excluded by a quantization config keep the config's dtype", "[quantized]") {
  const auto formats = [](const ModelCard& card) { return weight_formats_text(*card.weights); };
  CHECK(formats(quantized("deepseek-v3", deepseek_block)) ==
        "fp8-block (attention, mlp, experts, shared_experts), bf16");
  // The block of moonshotai/Kimi-K2.5: only routed experts.
  CHECK(formats(quantized("deepseek-v3", R"({"config_groups": {"group_0": {"targets": ["Linear"], "weights":
    {"actorder": null, "group_size": 32, "num_bits": 4, "strategy": "group", "symmetric": true, "type": "int"}}},
    "format": "pack-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
    "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "kv_cache_scheme": null, "quant_method": "compressed-tensors"})")) ==
        "int4-g32 (experts), bf16");
  // MiniMax-M2.5 excludes its router "gate", which does not match "gate_proj".
  CHECK(formats(quantized("deepseek-v3", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]})")) ==
        "fp8-block (attention, mlp, experts, shared_experts), bf16");
  CHECK(formats(quantized("mixtral-8x7b", R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64,
    "modules_to_not_convert": ["gate"]})")) == "awq-g64 (attention, experts), bf16");
  std::string every_attention;
  for (int i = 0; i < 32; ++i)
    every_attention += (i > 0 ? ", " : "") + ("\"model.language_model.layers." + std::to_string(i)) + ".self_attn*\"";
  const ModelCard globs = quantized("llama-3.1-8b", R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
    "ignore": ["lm_head", )" + every_attention + "]}");
  CHECK(formats(globs) == "nvfp4-input (mlp), bf16");
  CHECK(globs.caveats.empty());
  CHECK(formats(quantized("llama-3.1-8b", R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_use_double_quant": true})")) == "nf4-dq (attention, mlp), bf16");
  CHECK(formats(
            quantized("llama-3.1-8b", R"({"quant_method": "gptq", "bits": 8, "group_size": 128, "lm_head": true})")) ==
        "gptq-8bit (attention, mlp, lm_head), bf16");
}

TEST_CASE("a component stored in two formats has the bytes of both", "[quantized]") {
  // One attention layer of 32: 3.125 %.
  const ModelCard card = quantized("llama-3.1-8b", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["model.layers.0.self_attn"]})");
  CHECK((*card.weights)[Component::attention].name() == "fp8-block");
  REQUIRE(card.caveats.size() == 1);
  CHECK(
      card.caveats[0] ==
      "3 % of the weights of attention are stored in a format other than fp8-block; their bytes are counted as stored, "
      "their matmuls in the main format");
  const ModelCard all = quantized("llama-3.1-8b", R"({"quant_method": "fp8", "weight_block_size": [128, 128]})");
  // 2 x 4096 x 4096 and 2 x 1024 x 4096 elements in two bytes each instead of one with a float32 per 128 x 128.
  constexpr Count numbers = 2 * 4096 * 4096 + 2 * 1024 * 4096;
  CHECK(bytes(card) - bytes(all) == numbers - 4 * numbers / (128 * 128));
}

// MiniMaxAI/MiniMax-M2.5: 228703644928 stored elements, including float32 scales. The 256 router biases in each of 62
// layers are not parameters.
TEST_CASE("MiniMax-M2.5 has the published number of elements", "[quantized]") {
  const std::string block = R"({"quant_method": "fp8", "fmt": "float8_e4m3fn", "activation_scheme": "dynamic",
    "weight_block_size": [128, 128], "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]})";
  const ModelCard card = quantized(minimax, block);
  const Count numbers = parameters(card.arch).total, fp8 = 227410968576, others = numbers - fp8;
  const Count scales = (bytes(card) - fp8 - 2 * others) / 4;
  CHECK(scales == 13880064);
  CHECK(numbers + scales + 62 * 256 == 228703644928);
}

// moonshotai/Kimi-K2-Instruct: 1026470731056 published elements; parameters, float32 scales and 384 router biases in
// each of 60 layers are 3416 fewer.
TEST_CASE("Kimi-K2 has the published number of elements minus 3416", "[quantized]") {
  const ModelCard card = quantized(kimi, deepseek_block);
  const Count numbers = parameters(card.arch).total, fp8 = 1023893241856;
  const Count scales = (bytes(card) - fp8 - 2 * (numbers - fp8)) / 4;
  CHECK(numbers == 1026408209408);
  CHECK(numbers + scales + 60 * 384 == 1026470731056 - 3416);
}

// moonshotai/Kimi-K2.5: 1014686023680 elements of routed experts in int4 with a bf16 scale per 32, 11722208768 others
// of the text model in bf16; 16 bytes of shape for each of 60 x 384 x 3 matrices.
TEST_CASE("Kimi-K2.5's routed experts count packed integers, scales and the shape of each matrix", "[quantized]") {
  const ModelCard card = quantized(kimi, R"({"config_groups": {"group_0": {"targets": ["Linear"], "weights":
    {"actorder": null, "group_size": 32, "num_bits": 4, "strategy": "group", "symmetric": true, "type": "int"}}},
    "format": "pack-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
    "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "kv_cache_scheme": null, "quant_method": "compressed-tensors"})");
  constexpr Count experts = 1014686023680;
  CHECK(bytes(card) == experts / 2 + experts / 32 * 2 + 16 * 60 * 384 * 3 + 2 * (11722208768 - 60 * 384));
}

// reubzdubz/Molmo7B_D_NF4Quant, whose text model is Qwen2 7B with fused projections: 112 matrices with 6525288448
// elements. The index states 6661964712 bytes, of which 2 x 1495736832 are float16.
TEST_CASE("bitsandbytes' nf4 has the published number of bytes, including its state strings", "[quantized]") {
  const json::Value block = json::parse(R"({"quant_method": "bitsandbytes", "_load_in_4bit": true,
    "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": false})",
                                        "block");
  const import::Scheme s = import::scheme(json::Object(block, "block"), {.model_type = "molmo", .dtype = "float16"});
  Bytes all;
  for (const auto& [rows, columns] :
       {std::pair<Count, Count>{4608, 3584}, {3584, 3584}, {37888, 3584}, {3584, 18944}}) {
    const import::Matrix m{Component::mlp, {"layers.0.mlp"}, 1, rows, columns};
    all += 28 * import::packed_bytes(*import::packing_of(s, m), m);
  }
  CHECK(all.value == 6661964712 - Count{2} * 1495736832);
}

TEST_CASE("the format of fp8 block scales depends on the family", "[quantized]") {
  const auto scale_bits = [](const char* family) {
    const json::Value block = json::parse(deepseek_block, "block");
    return import::scheme(json::Object(block, "block"), {.model_type = family, .dtype = "bfloat16"})
        .groups[0]
        .packing->bytes.group_bits;
  };
  CHECK(scale_bits("deepseek_v3") == 32);
  CHECK(scale_bits("qwen3_5_moe_text") == 16);
  CHECK(scale_bits("deepseek_v4") == 8);
}

// Bytes of one matrix of 512 x 1024 in the layouts of the methods' own code.
TEST_CASE("every quantization method packs a matrix into its exact number of bytes", "[quantized]") {
  constexpr Count rows = 512, columns = 1024, n = rows * columns;
  const auto packed = [](const std::string& block) {
    const json::Value v = json::parse(block, "block");
    const import::Scheme s = import::scheme(json::Object(v, "block"), {.model_type = "llama", .dtype = "bfloat16"});
    const import::Matrix m{Component::mlp, {"layers.0.mlp.up_proj"}, 1, rows, columns};
    return import::packed_bytes(*import::packing_of(s, m), m).value;
  };
  CHECK(packed(R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}})") ==
        n / 2 + n / 64 * 4);
  CHECK(packed(R"({"quant_method": "exl3", "bits": 3.0})") == n * 3 / 8 + 2 * (rows + columns));
  CHECK(packed(R"({"quant_method": "exl2", "bits": 4.5})") == n * 9 / 16);
  CHECK(packed(R"({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data":
    {"group_size": 64}}}})") == n / 2 + n / 64 * 4);
  CHECK(packed(R"({"quant_method": "torchao", "quant_type": "int8_weight_only"})") == n + 2 * rows);
  CHECK(packed(R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group",
    "group_size": 32}}})") == n / 2 + n / 32);
  CHECK(packed(R"({"quant_method": "fp8", "weight_block_size": [1, 32]})") == n + n / 32);
  CHECK(packed(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})") == n + 4 * rows + 1);
  const std::string group = R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"],
    "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true, "actorder": )";
  CHECK(packed(group + R"("group"}}}, "format": "pack-quantized"})") == n / 2 + n / 128 * 2 + 16 + 4 * columns);
  CHECK(packed(group + R"(null}}}, "format": "pack-quantized"})") == n / 2 + n / 128 * 2 + 16);
  // Half of the fp8 elements, a bit for each, the shape, and a bf16 scale per row.
  CHECK(packed(R"({"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"},
    "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy":
    "channel"}}}})") == n / 2 + n / 8 + 16 + 2 * rows);
  CHECK(packed(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"layers.0.mlp.up_proj": {"quant_algo":
    "NVFP4", "group_size": 16}}})") == n / 2 + n / 16 + 8);
}

TEST_CASE("a config's dtype is the format of its weights", "[quantized]") {
  const auto read = [](const char* key, const char* name) {
    json::Value v = released_config("llama-3.1-8b");
    v.erase("torch_dtype");
    v[key] = name;
    return import_config(v, "c.json").weights;
  };
  CHECK(read("torch_dtype", "float16") == WeightFormats(dtypes::fp16));
  CHECK(read("dtype", "torch.float32") == WeightFormats(dtypes::fp32));
  CHECK(read("dtype", "bfloat16") == WeightFormats(dtypes::bf16));
  CHECK_FALSE(read("dtype", "auto").has_value());
  CHECK(sentence([&] { read("dtype", "int3"); }) ==
        "c.json: \"dtype\": expected float32, float16, bfloat16 or auto, got \"int3\"");
}

TEST_CASE("the error for an unknown quantization method names the method", "[quantized]") {
  const auto says = [](const std::string& block, const char* what) {
    CHECK_THAT(refusal(block), Catch::Contains(what) && Catch::Contains("is not supported; specify the formats"));
  };
  says(R"({"quant_method": "aqlm"})", "quant_method \"aqlm\"");
  says(R"({"bits": 4})", "quant_method \"\"");
  says(R"({"quant_method": "gptq", "bits": 5})", "GPTQ with 5 bits");
  says(R"({"quant_method": "awq", "group_size": 48})", "AWQ with 4 bits in groups of 48");
  says(R"({"quant_method": "fp8", "weight_block_size": [64, 64]})", "fp8 in blocks other than 128 x 128");
  says(R"({"quant_method": "bitsandbytes"})", "neither load_in_4bit nor load_in_8bit");
  says(R"({"quant_algo": "MIXED_PRECISION"})", "ModelOpt's quant_algo \"MIXED_PRECISION\"");
  says(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"], "weights":
    {"num_bits": 3, "type": "int", "strategy": "group", "group_size": 128}}}})",
       "3 bits of type \"int\"");
  says(R"({"quant_method": "compressed-tensors", "ignore": ["re:("], "config_groups": {}})", "a regular expression");
  says(R"({"quant_method": "compressed-tensors", "config_groups": {}})", "without weights");
}

TEST_CASE("a model file can state one weight format for all components, with exceptions", "[quantized]") {
  const auto read = [](const char* text) {
    const json::Value v = json::parse(text, "weights");
    return read_weight_formats(json::Object(v, "weights"));
  };
  WeightFormats w = dtypes::bf16;
  w[Component::experts] = *dtype("mxfp4");
  CHECK(read(R"({"all": "bf16", "experts": "MXFP4"})") == w);
  CHECK(weight_formats_json(w) == json::parse(R"({"all": "bf16", "experts": "mxfp4"})", "w"));
  CHECK(sentence([&] { read(R"({"all": "bf17"})"); }) ==
        "weights, \"all\": \"bf17\" is not a number format; 'llmcalc list dtypes' shows them");
  CHECK_THAT(sentence([&] { read(R"({"all": "bf16", "expert": "fp8"})"); }), Catch::Contains("did you mean"));
  ModelCard tied = import_config(released_config("gpt-2-124m"), "c.json");
  tied.weights = dtypes::bf16;
  (*tied.weights)[Component::lm_head] = dtypes::fp8;
  CHECK_THAT(sentence([&] { read_model_file(model_file_json(tied), "m.json"); }),
             Catch::Contains("the head is tied to the embedding"));
}
