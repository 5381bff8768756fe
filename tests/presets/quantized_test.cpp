// Checkpoints of which the bytes of all tensors are published, and what stays in 16 bits in them.

#include "calc/memory.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "presets/weight_formats.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using test::sentence;

namespace {

/// The published config.json of a preset.
json::Value config(const std::string& name) {
  std::string path = LLMCALC_SOURCE_DIR;
  path += "/tests/presets/data/configs.json";
  for (const json::Value& row : json::parse(json::file_text(path), path))
    if (row["name"] == name) return row["config"];
  throw InputError("no config of " + name);
}

ModelCard quantised(const std::string& name, const std::string& block) {
  json::Value v = config(name);
  v["quantization_config"] = json::parse(block, "block");
  return import_config(v, "c.json");
}

Count bytes(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p).value;
}

std::string refusal(const std::string& block) {
  return sentence([&] { quantised("llama-3.1-8b", block); });
}

/// All weights in `formats`, as a model file says it.
Count bytes_in(const std::string& name, const char* formats) {
  ModelCard card = import_config(config(name), "c.json");
  const json::Value v = json::parse(formats, "formats");
  card.weights = read_weight_formats(json::Object(v, "formats"));
  return bytes(card);
}

const std::string deepseek_block = R"({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
  "weight_block_size": [128, 128]})";

}  // namespace

// Sums over the checkpoints' tensors: the index's total_size, or all data_offsets of the safetensors headers.
TEST_CASE("a quantised checkpoint has its published bytes", "[quantized]") {
  // openai/gpt-oss-20b: experts mxfp4; attention, sinks, router, biases, embedding, head and norms bf16.
  CHECK(bytes(quantised("gpt-oss-20b", R"({"quant_method": "mxfp4", "modules_to_not_convert":
    ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})")) == 13761264768);
  // RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic: a bf16 scale per row of the layers' matrices.
  CHECK(bytes(quantised("llama-3.1-8b", R"({"quant_method": "compressed-tensors", "format": "float-quantized",
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float",
    "strategy": "channel", "symmetric": true, "dynamic": false}}}, "ignore": ["lm_head"]})")) == 9083953152);
  // RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16: g_idx and a bias for every matrix.
  CHECK(bytes(quantised("llama-3.1-8b", R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
    "desc_act": true, "sym": true})")) == 5735587840);
  // hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4.
  CHECK(bytes(quantised("llama-3.1-70b", R"({"quant_method": "awq", "bits": 4, "group_size": 128,
    "zero_point": true, "version": "gemm", "modules_to_not_convert": null})")) == 39767785472);
  // nvidia/Llama-3.3-70B-Instruct-FP4, which has the shape of 3.1: two float32 scales for each of 560 matrices.
  CHECK(bytes(quantised("llama-3.1-70b", R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4",
    "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}})")) == 42709045632);
}

// deepseek-ai/DeepSeek-V3 has 680571043840 numbers in fp8, 3918786560 in bf16 and 41555600 in float32 (Hugging Face's
// counts by dtype). Not counted here: its prediction layer, and the 256 router biases of each of 58 layers.
TEST_CASE("DeepSeek-V3 has its published bytes less the prediction layer and the buffers", "[quantized]") {
  constexpr Count h = 7168, table = 129280 * h;
  // q_a, q_b, kv_a, kv_b, o; 257 experts of three matrices.
  constexpr Count attention = h * 1536 + 1536 * 24576 + h * 576 + 512 * 32768 + 16384 * h, experts = 257 * 3 * h * 2048;
  constexpr Count attention_blocks = 56 * 12 + 12 * 192 + 56 * 5 + 4 * 256 + 128 * 56,
                  expert_blocks = 257 * 3 * 56 * 16;
  // Five norms of the hidden width and two of the latent rows, two hidden states joined, router, table and head again.
  constexpr Count sixteen = 5 * h + 1536 + 512 + 2 * h * h + 256 * h + 2 * table;
  constexpr Count prediction = attention + experts + 2 * sixteen + 4 * (attention_blocks + expert_blocks + 256);
  constexpr Count published = 680571043840 + 2 * 3918786560 + 4 * 41555600, buffers = 4 * 58 * 256;
  CHECK(bytes(quantised("deepseek-v3", deepseek_block)) == published - prediction - buffers);
}

// Tensor bytes of GGUF files: file less header (llama.cpp leaves norms and routers in float32).
TEST_CASE("a GGUF file of one type has its published bytes", "[quantized]") {
  CHECK(bytes_in("llama-2-7b", R"({"all": "q8_0", "norm": "fp32"})") == 7161089728 - 741056);
  // Llama 3.1 stores 64 rotary factors, in float32.
  CHECK(bytes_in("llama-3.1-8b", R"({"all": "q8_0", "norm": "fp32"})") == 8540775840 - 7840928 - 4 * 64);
  CHECK(bytes_in("qwen3-30b-a3b", R"({"all": "q8_0", "norm": "fp32", "router": "fp32"})") == 32483932576 - 5970336);
}

TEST_CASE("what a quantisation block names stays in the config's dtype", "[quantized]") {
  const auto formats = [](const ModelCard& card) { return weight_formats_text(*card.weights); };
  CHECK(formats(quantised("deepseek-v3", deepseek_block)) ==
        "fp8-block (attention, mlp, experts, shared_experts), bf16");
  // The block of moonshotai/Kimi-K2.5: routed experts only.
  CHECK(formats(quantised("deepseek-v3", R"({"config_groups": {"group_0": {"targets": ["Linear"], "weights":
    {"actorder": null, "group_size": 32, "num_bits": 4, "strategy": "group", "symmetric": true, "type": "int"}}},
    "format": "pack-quantized", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
    "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "kv_cache_scheme": null, "quant_method": "compressed-tensors"})")) ==
        "int4-g32 (experts), bf16");
  // MiniMax-M2.5 keeps its router "gate", which is no "gate_proj".
  CHECK(formats(quantised("deepseek-v3", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]})")) ==
        "fp8-block (attention, mlp, experts, shared_experts), bf16");
  CHECK(formats(quantised("mixtral-8x7b", R"({"quant_method": "awq", "w_bit": 4, "q_group_size": 64,
    "modules_to_not_convert": ["gate"]})")) == "awq-g64 (attention, experts), bf16");
  std::string every_attention;
  for (int i = 0; i < 32; ++i)
    every_attention += (i > 0 ? ", " : "") + ("\"model.language_model.layers." + std::to_string(i)) + ".self_attn*\"";
  const ModelCard globs = quantised("llama-3.1-8b", R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
    "ignore": ["lm_head", )" + every_attention + "]}");
  CHECK(formats(globs) == "nvfp4-input (mlp), bf16");
  CHECK(globs.caveats.empty());
  CHECK(formats(quantised("llama-3.1-8b", R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_use_double_quant": true})")) == "nf4-dq (attention, mlp), bf16");
  CHECK(formats(
            quantised("llama-3.1-8b", R"({"quant_method": "gptq", "bits": 8, "group_size": 128, "lm_head": true})")) ==
        "gptq-8bit (attention, mlp, lm_head), bf16");
}

TEST_CASE("a component that is stored in two formats is counted in one, and that is said", "[quantized]") {
  // One attention of 32: 3.125 %.
  const ModelCard card = quantised("llama-3.1-8b", R"({"quant_method": "fp8", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["model.layers.0.self_attn"]})");
  CHECK((*card.weights)[Component::attention].name() == "fp8-block");
  REQUIRE(card.caveats.size() == 1);
  CHECK(card.caveats[0] ==
        "3 % of the weights of attention are stored in another format than fp8-block, in which all are counted");
}

TEST_CASE("a config's dtype is the format of its weights", "[quantized]") {
  const auto read = [](const char* key, const char* name) {
    json::Value v = config("llama-3.1-8b");
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

TEST_CASE("a quantisation that is not known is refused by its name", "[quantized]") {
  const auto says = [](const std::string& block, const char* what) {
    CHECK_THAT(refusal(block), Catch::Contains(what) && Catch::Contains("is not known; write the formats"));
  };
  says(R"({"quant_method": "hqq"})", "quant_method \"hqq\"");
  says(R"({"bits": 4})", "quant_method \"\"");
  says(R"({"quant_method": "gptq", "bits": 3})", "GPTQ with 3 bits in groups of 128");
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

TEST_CASE("a model file's weights name one format for all and those that differ", "[quantized]") {
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
  ModelCard tied = import_config(config("gpt-2-124m"), "c.json");
  tied.weights = dtypes::bf16;
  (*tied.weights)[Component::lm_head] = dtypes::fp8;
  CHECK_THAT(sentence([&] { read_model_file(model_file_json(tied), "m.json"); }),
             Catch::Contains("the head is the token table"));
}
