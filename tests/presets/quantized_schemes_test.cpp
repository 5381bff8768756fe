// Quantisation blocks of which not all matrices are packed alike, and layouts of methods' own code: bytes of matrices
// of 512 x 1024 by hand.

#include "calc/memory.hpp"
#include "presets/import/import.hpp"
#include "presets/import/scheme.hpp"
#include "presets/model_file.hpp"
#include "presets/weight_formats.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using test::sentence;

namespace {

constexpr Count rows = 512, columns = 1024, n = rows * columns;

/// Bytes of the matrix of that name, which is in two bytes a number where the block keeps it.
Count packed_as(const std::string& block, const std::string& path, Component c = Component::mlp, bool biased = false) {
  const json::Value v = json::parse(block, "block");
  const import::Scheme s = import::scheme(json::Object(v, "block"), {.model_type = "llama", .dtype = "bfloat16"});
  const import::Matrix m{c, {path}, 1, rows, columns, biased};
  const auto p = import::packing_of(s, m);
  return p ? import::packed_bytes(*p, m).value : 2 * n;
}

Count packed_up(const std::string& block) { return packed_as(block, "layers.0.mlp.up_proj"); }

/// The format in which the matrix is multiplied.
std::string multiplied(const std::string& block, const std::string& path = "layers.0.mlp.up_proj") {
  const json::Value v = json::parse(block, "block");
  const import::Scheme s = import::scheme(json::Object(v, "block"), {.model_type = "llama", .dtype = "bfloat16"});
  const import::Scheme::Group* g = import::group_of(s, {Component::mlp, {path}, 1, rows, columns});
  return g != nullptr && g->products ? std::string(g->products->name()) : "16 bits";
}

/// A model of two layers: 4 heads of 32, hidden 128, MLP of 256, 1000 tokens.
json::Value small_config(const std::string& block, const std::string& more = "") {
  json::Value v = json::parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 128,
    "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16")" +
                                  more + "}",
                              "config");
  v["quantization_config"] = json::parse(block, "block");
  return v;
}
constexpr Count attention_numbers = 2 * 4 * 128 * 128, mlp_numbers = 2 * 3 * 128 * 256, table_numbers = 1000 * 128,
                norm_numbers = 5 * 128;

ModelCard small_card(const std::string& block, const std::string& more = "") {
  return import_config(small_config(block, more), "c.json");
}

Count bytes_of(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p).value;
}

std::string refused(const std::string& block) {
  return sentence([&] { small_card(block); });
}

/// A group of compressed-tensors with these weights, and what follows in it.
std::string group_with(const std::string& weights, const std::string& more = "") {
  return R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"], "weights": )" +
         weights + more + "}}, ";
}

const std::string gptq4 = R"("quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true)";

}  // namespace

// AutoGPTQ, nn_modules/qlinear: qweight, a 16-bit scale and a zero per group, g_idx as int32 per column whether or not
// desc_act is set, and a bias; GPTQModel's layers have the bias of the model's own layer alone.
TEST_CASE("GPTQ's layers have their group indices and biases in all bits and groups", "[schemes]") {
  const auto block = [](int bits, int group, const std::string& more = "") {
    return R"({"quant_method": "gptq", "bits": )" + std::to_string(bits) + R"(, "group_size": )" +
           std::to_string(group) + more + "}";
  };
  constexpr Count besides = 4 * columns + 2 * rows;
  CHECK(packed_up(block(4, 128)) == n / 2 + n / 128 * 5 / 2 + besides);
  CHECK(packed_up(block(4, 128, R"(, "desc_act": true)")) == n / 2 + n / 128 * 5 / 2 + besides);
  CHECK(packed_up(block(4, 32, R"(, "desc_act": true)")) == n / 2 + n / 32 * 5 / 2 + besides);
  CHECK(packed_up(block(4, -1)) == n / 2 + rows * 5 / 2 + besides);
  CHECK(packed_up(block(8, 32)) == n + n / 32 * 3 + besides);
  CHECK(packed_up(block(8, 128)) == n + n / 128 * 3 + besides);
  CHECK(packed_up(block(8, -1, R"(, "desc_act": true)")) == n + rows * 3 + besides);
  CHECK(packed_up(block(3, 128)) == n * 3 / 8 + n / 128 * 19 / 8 + besides);
  CHECK(packed_up(block(2, 64)) == n / 4 + n / 64 * 18 / 8 + besides);
  CHECK(packed_as(block(4, 128), "layers.0.mlp.up_proj", Component::mlp, true) ==
        n / 2 + n / 128 * 5 / 2 + 4 * columns);
  CHECK(packed_up(block(4, 128, R"(, "meta": {"quantizer": ["gptqmodel:2.0.0"]})")) ==
        n / 2 + n / 128 * 5 / 2 + 4 * columns);
  CHECK_THAT(refused(block(5, 128)), Catch::Contains("GPTQ with 5 bits is not known"));
  CHECK_THAT(refused(block(4, 48)), Catch::Contains("GPTQ with 4 bits in groups of 48 is not known"));
  CHECK_THAT(refused(block(4, 128, R"(, "checkpoint_format": "marlin")")),
             Catch::Contains("checkpoint_format \"marlin\""));
}

TEST_CASE("GPTQModel's dynamic settings keep modules or give them others, the first that matches", "[schemes]") {
  const std::string block = "{" + gptq4 + R"(, "dynamic": {"-:.*self_attn.*": {}, "+:.*down_proj.*": {"bits": 8,
    "group_size": 32}, ".*\\.0\\..*down_proj": {"bits": 2}}})";
  constexpr Count besides = 4 * columns + 2 * rows;
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") == 2 * n);
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == n + n / 32 * 3 + besides);
  CHECK(packed_up(block) == n / 2 + n / 128 * 5 / 2 + besides);
  // In a model: attention in two bytes a number; down has 128 rows of 256, gate and up have 256 of 128.
  const auto layer = [](Count r, Count c, Count bits, Count group) {
    return r * c * bits / 8 + r * c / group * (16 + bits) / 8 + 4 * c + 2 * r;
  };
  const ModelCard card = small_card(block);
  CHECK(bytes_of(card) == 2 * (attention_numbers + 2 * table_numbers + norm_numbers) +
                              2 * (2 * layer(256, 128, 4, 128) + layer(128, 256, 8, 32)));
  CHECK(card.unknown_keys.empty());
}

TEST_CASE("GPTQ of some modules of a block keeps the others", "[schemes]") {
  const std::string block = "{" + gptq4 + R"(, "modules_in_block_to_quantize": [["self_attn.q_proj"],
    ["mlp.gate_proj", "mlp.up_proj"]]})";
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == 2 * n);
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") < n);
  CHECK(packed_up(block) < n);
}

// auto_round, export/export_to_autoround: GPTQ's layout without g_idx and without a bias of zeros; AWQ's; MX and NVFP4.
TEST_CASE("AutoRound's formats are those that it names, for all layers and for single ones", "[schemes]") {
  const auto block = [](const std::string& more) {
    return R"({"quant_method": "auto-round", "sym": true, )" + more + "}";
  };
  CHECK(packed_up(block(R"("bits": 4, "group_size": 128, "packing_format": "auto_round:auto_gptq")")) ==
        n / 2 + n / 128 * 5 / 2);
  CHECK(packed_up(block(R"("bits": 2, "group_size": 64)")) == n / 4 + n / 64 * 18 / 8);
  CHECK(packed_up(block(R"("bits": 4, "group_size": 64, "packing_format": "auto_round:auto_awq")")) ==
        n / 2 + n / 64 * 5 / 2);
  CHECK(packed_up(block(R"("bits": 4, "group_size": 32, "data_type": "mx_fp", "act_bits": 4)")) == n / 2 + n / 32);
  CHECK(packed_up(block(R"("bits": 8, "group_size": 32, "data_type": "mx_fp")")) == n + n / 32);
  CHECK(packed_up(block(R"("bits": 4, "group_size": 16, "data_type": "nv_fp")")) == n / 2 + n / 16 + 4);
  CHECK(packed_up(block(R"("bits": 4, "group_size": 16, "data_type": "nv_fp", "act_bits": 4)")) == n / 2 + n / 16 + 8);
  CHECK(multiplied(block(R"("bits": 4, "group_size": 32, "data_type": "mx_fp", "act_bits": 4)")) == "mxfp4");
  CHECK(multiplied(block(R"("bits": 4, "group_size": 32, "data_type": "mx_fp", "act_bits": 16)")) == "16 bits");
  const std::string extra = block(R"("bits": 4, "group_size": 128, "extra_config": {".*down_proj.*": {"bits": 8},
    "model.layers.0.mlp.down_proj": {"bits": 2}, "model.layers.0.self_attn.q_proj": {"bits": 16,
    "data_type": "float"}})");
  CHECK(packed_as(extra, "layers.0.self_attn.q_proj") == 2 * n);
  CHECK(packed_as(extra, "layers.0.mlp.down_proj") == n / 4 + n / 128 * 18 / 8);  // named, not matched
  CHECK(packed_as(extra, "layers.1.mlp.down_proj") == n + n / 128 * 3);
  CHECK_THAT(refused(block(R"("bits": 4, "data_type": "fp")")), Catch::Contains("data_type \"fp\" with 4 bits"));
}

TEST_CASE("Quark's layers have settings by name and by class", "[schemes]") {
  const std::string fp8 = R"({"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}, "input_tensors":
    {"dtype": "fp8_e4m3", "qscheme": "per_tensor", "is_dynamic": false}})";
  const std::string fp4 = R"({"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}, "input_tensors":
    {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "is_dynamic": true}})";
  const std::string block = R"({"quant_method": "quark", "global_quant_config": )" + fp4 +
                            R"(, "layer_quant_config": {"*self_attn*": )" + fp8 +
                            R"(, "*down_proj": {"weight": null}}})";
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") == n + 8);
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == 2 * n);
  CHECK(packed_up(block) == n / 2 + n / 32);
  CHECK(multiplied(block) == "mxfp4");
  CHECK(multiplied(block, "layers.0.self_attn.q_proj") == "fp8");
  CHECK(packed_up(R"({"quant_method": "quark", "global_quant_config": )" + fp4 +
                  R"(, "layer_type_quant_config": {"Linear": )" + fp8 + "}}") == n + 8);
  CHECK(packed_up(R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "uint4", "qscheme":
    "per_group", "group_size": 64}}})") == n / 2 + n / 64 * 5 / 2);
  CHECK_THAT(refused(R"({"quant_method": "quark", "global_quant_config": )" + fp4 +
                     R"(, "layer_type_quant_config": {"Conv2d": )" + fp8 + "}}"),
             Catch::Contains("the class \"Conv2d\""));
  const ModelCard mixed = small_card(R"({"quant_method": "quark", "global_quant_config": )" + fp4 +
                                     R"(, "layer_quant_config": {"*self_attn*": )" + fp8 + "}}");
  CHECK(mixed.products == dtypes::fp8);
  CHECK(mixed.product_parts == NarrowParts::all());
  CHECK_THAT(mixed.caveats.at(0), Catch::Contains("are all counted in fp8"));
}

// hqq, core/bitpack.py: ten numbers of 3 bits in an int32, over groups (axis 1) or within one (axis 0).
TEST_CASE("HQQ has settings by module, and packs three bits into int32", "[schemes]") {
  const std::string block = R"({"quant_method": "hqq", "quant_config": {"self_attn.q_proj": {"weight_quant_params":
    {"nbits": 4, "group_size": 64}}, "mlp.down_proj": {"weight_quant_params": {"nbits": 2, "group_size": 16}}}})";
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") == n / 2 + n / 64 * 4);
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == n / 4 + n / 16 * 4);
  CHECK(packed_up(block) == 2 * n);
  const auto three = [](int axis) {
    return R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 3, "group_size": 64, "axis": )" +
           std::to_string(axis) + "}}}";
  };
  CHECK(packed_up(three(1)) == (n / 64 + 9) / 10 * 64 * 4 + n / 64 * 4);
  CHECK(packed_up(three(0)) == n / 64 * 7 * 4 + n / 64 * 4);
  CHECK(packed_up(
            R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 8, "group_size": null}}})") ==
        n + 4 * rows);
  CHECK_THAT(refused(R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 2, "group_size": 16},
    "scale_quant_params": {"nbits": 8, "group_size": 128}}})"),
             Catch::Contains("HQQ's \"scale_quant_params\""));
}

TEST_CASE("EXL's head has bits of its own", "[schemes]") {
  const auto head = [](const std::string& block) { return packed_as(block, "lm_head", Component::lm_head); };
  const std::string third = R"({"quant_method": "exl3", "bits": 4.0, "head_bits": 6})";
  CHECK(head(third) == n * 6 / 8 + 2 * (rows + columns));
  CHECK(packed_up(third) == n / 2 + 2 * (rows + columns));
  CHECK(head(R"({"quant_method": "exl2", "bits": 4.25, "head_bits": 6})") == n * 6 / 8);
  CHECK(head(R"({"quant_method": "exl3", "bits": 5.0})") == n * 5 / 8 + 2 * (rows + columns));
}

TEST_CASE("compressed-tensors' layouts are those that the block states", "[schemes]") {
  const std::string int4 =
      R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true})";
  // Every second number, two bits each that say which: 2 + 1 bits a number, and a 16-bit scale per group.
  CHECK(packed_up(group_with(int4) + R"("format": "marlin-24", "sparsity_config": {"format": "dense"}})") ==
        n / 4 + n / 8 + n / 128 * 2);
  const auto blocks = [](const std::string& size) {
    return group_with(R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": )" + size + "}") +
           R"("format": "float-quantized"})";
  };
  CHECK(packed_up(blocks("[64, 64]")) == n + n / (64 * 64) * 2);
  CHECK(packed_up(blocks("[128, 128]")) == n + n / (128 * 128) * 2);
  const std::string nvfp4 = R"({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16})";
  CHECK(packed_up(group_with(nvfp4) + R"("format": "nvfp4-pack-quantized"})") == n / 2 + n / 16 + 4);
  const std::string inputs = R"(, "input_activations": {"num_bits": 4, "type": "float", "strategy": "tensor_group",
    "dynamic": "local"})";
  CHECK(packed_up(group_with(nvfp4, inputs) + R"("format": "nvfp4-pack-quantized"})") == n / 2 + n / 16 + 8);
  const auto channel = [](int bits, const std::string& more = "") {
    return group_with(R"({"num_bits": )" + std::to_string(bits) +
                          R"(, "type": "int", "strategy": "channel", "symmetric": true})",
                      more) +
           R"("format": "pack-quantized"})";
  };
  CHECK(packed_up(channel(4)) == n / 2 + 2 * rows + 16);
  CHECK(packed_up(channel(8)) == n + 2 * rows + 16);
  const std::string int8_inputs = R"(, "input_activations": {"num_bits": 8, "type": "int", "strategy": "token",
    "dynamic": true})";
  CHECK(multiplied(channel(4, int8_inputs)) == "int8");
  CHECK(multiplied(channel(4)) == "16 bits");
  // fp8 of a tensor: its scale and its input's, each in 16 bits.
  CHECK(packed_up(group_with(R"({"num_bits": 8, "type": "float", "strategy": "tensor"})",
                             R"(, "input_activations": {"num_bits": 8, "type": "float", "strategy": "tensor",
    "dynamic": false})") +
                  R"("format": "float-quantized"})") == n + 4);
  CHECK_THAT(refused(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["LlamaMLP"],
    "weights": )" + int4 +
                     "}}}"),
             Catch::Contains("the class \"LlamaMLP\" in \"targets\" is not known"));
  const ModelCard unmatched = small_card(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets":
    ["re:.*experts.*"], "weights": )" + int4 +
                                         "}}}");
  CHECK(
      unmatched.caveats.at(0) ==
      "\"quantization_config\": the group \"g\" matches no matrix of the model that is not in a group before it");
}

// compressors/sparse_24_bitmask.py: every second number of two bytes, a bit for each, and the shape.
TEST_CASE("a sparse checkpoint of compressed-tensors may have no quantised weights", "[schemes]") {
  const std::string block = R"({"quant_method": "compressed-tensors", "format": "dense", "sparsity_config": {"format":
    "sparse-24-bitmask", "ignore": ["lm_head"], "targets": ["Linear"], "sparsity_structure": "2:4"}})";
  CHECK(packed_up(block) == n + n / 8 + 16);
  CHECK(packed_as(block, "lm_head", Component::lm_head) == 2 * n);
  CHECK(small_card(block).unknown_keys.empty());
  // Seven matrices in each of two layers.
  const Count sparse = attention_numbers + mlp_numbers;
  CHECK(bytes_of(small_card(block)) == sparse + sparse / 8 + 14 * 16 + 2 * (2 * table_numbers + norm_numbers));
}

TEST_CASE("groups that name modules go before one of all", "[schemes]") {
  const std::string block = R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
    "all": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
    "down": {"targets": ["re:.*down_proj"], "weights": {"num_bits": 4, "type": "float", "group_size": 32}}}})";
  CHECK(packed_as(block, "layers.1.mlp.down_proj") == n / 2 + n / 32);
  CHECK(packed_up(block) == n + 2 * rows);
}

// quant_api.py: fp8 has a float32 scale per row or per tensor; integers of IntxWeightOnly take a byte each, with a
// 16-bit scale and a zero of a byte.
TEST_CASE("torchao's settings are read with their granularity and their modules", "[schemes]") {
  const auto block = [](const std::string& type, const std::string& data, const std::string& more = "") {
    return R"({"quant_method": "torchao", "quant_type": {"default": {"_type": ")" + type + R"(", "_data": )" + data +
           "}}" + more + "}";
  };
  const std::string fp8 = "Float8DynamicActivationFloat8WeightConfig";
  const std::string by_row = R"({"granularity": [{"_type": "PerRow"}, {"_type": "PerRow"}]})";
  const std::string by_tensor = R"({"granularity": [{"_type": "PerTensor"}, {"_type": "PerTensor"}]})";
  CHECK(packed_up(block(fp8, by_row)) == n + 4 * rows);
  CHECK(packed_up(block(fp8, by_tensor)) == n + 4);
  CHECK(packed_up(block(fp8, "{}")) == n + 4);
  CHECK(packed_up(block("Float8WeightOnlyConfig", "{}")) == n + 4 * rows);
  CHECK(multiplied(block(fp8, "{}")) == "fp8");
  CHECK(multiplied(block("Float8WeightOnlyConfig", "{}")) == "16 bits");
  CHECK(multiplied(block("Int8DynamicActivationInt8WeightConfig", "{}")) == "int8");
  CHECK(packed_up(block("IntxWeightOnlyConfig", R"({"weight_dtype": {"_type": "torch.dtype", "_data": "int4"},
    "granularity": {"_type": "PerGroup", "_data": {"group_size": 32}}})")) == n + n / 32 * 3);
  const std::string four = block("Int8DynamicActivationInt4WeightConfig", R"({"group_size": 32})");
  CHECK(packed_up(four) == n + n / 32 * 6);
  CHECK(multiplied(four) == "int8");
  const std::string named = block("ModuleFqnToConfig", R"({"module_fqn_to_config": {"_default": {"_type":
    "Int4WeightOnlyConfig", "_data": {"group_size": 128}}, "re:.*down_proj": {"_type": "Int8WeightOnlyConfig"},
    "model.layers.0.self_attn.q_proj": null}})");
  CHECK(packed_as(named, "layers.0.self_attn.q_proj") == 2 * n);
  CHECK(packed_as(named, "layers.1.self_attn.q_proj") == n / 2 + n / 128 * 4);
  CHECK(packed_as(named, "layers.1.mlp.down_proj") == n + 2 * rows);
}

TEST_CASE("torchao's tables of tokens are quantised where the block includes them", "[schemes]") {
  const auto block = [](const char* tables) {
    return std::string(R"({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}},
    "include_input_output_embeddings": )") +
           tables + "}";
  };
  // A 16-bit scale per row: 4 x 128 rows of attention and 2 x 256 + 128 of the MLP in a layer, 1000 in each table.
  const Count matrices = attention_numbers + mlp_numbers, scales = 2 * 2 * (4 * 128 + 2 * 256 + 128);
  CHECK(bytes_of(small_card(block("false"))) == matrices + scales + 2 * (2 * table_numbers + norm_numbers));
  CHECK(bytes_of(small_card(block("true"))) == matrices + scales + 2 * (table_numbers + 2 * 1000) + 2 * norm_numbers);
  CHECK(bytes_of(small_card(block("true"), R"(, "tie_word_embeddings": true)")) ==
        matrices + scales + table_numbers + 2 * 1000 + 2 * norm_numbers);
}

// modelopt, export/unified_export_hf.py: scales are float32, but those of nvfp4 and mxfp4 groups.
TEST_CASE("ModelOpt's algorithms have their scales, and their products where inputs are quantised", "[schemes]") {
  const auto block = [](const std::string& algorithm, int group = 0) {
    return R"({"quant_algo": ")" + algorithm + "\"" +
           (group > 0 ? R"(, "group_size": )" + std::to_string(group) : std::string()) + "}";
  };
  CHECK(packed_up(block("W4A16_AWQ", 128)) == n / 2 + n / 128 * 4);
  CHECK(packed_up(block("W4A8_AWQ", 64)) == n / 2 + n / 64 * 4 + 8);
  CHECK(packed_up(block("NVFP4_AWQ", 16)) == n / 2 + n / 16 + 8);
  CHECK(packed_up(block("W4A16_NVFP4", 16)) == n / 2 + n / 16 + 4);
  CHECK(packed_up(block("MXFP4", 32)) == n / 2 + n / 32);
  CHECK(packed_up(block("W8A8_SQ_PER_CHANNEL")) == n + 4 * rows + 4);
  CHECK(multiplied(block("W4A16_AWQ", 128)) == "16 bits");
  CHECK(multiplied(block("W4A8_AWQ", 128)) == "fp8");
  CHECK(multiplied(block("W4A16_NVFP4", 16)) == "16 bits");
  CHECK(multiplied(block("W8A8_SQ_PER_CHANNEL")) == "int8");
  CHECK_THAT(refused(block("NVFP4", 32)), Catch::Contains("ModelOpt's NVFP4 in groups of 32"));
  CHECK_THAT(small_card(block("W4A8_AWQ", 128)).caveats.at(0), Catch::Contains("pre_quant_scale"));
}

TEST_CASE("scales of a cache are told with the cache's bits", "[schemes]") {
  const auto note = [](const std::string& cache) {
    const ModelCard card = small_card(R"({"quant_method": "modelopt", "quant_algo": "FP8", )" + cache + "}");
    return card.caveats.empty() ? std::string() : card.caveats.back();
  };
  const std::string eight = "the checkpoint has scales for an 8-bit KV cache; --kv-precision fp8 counts one";
  CHECK(note(R"("kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"})") == eight);
  CHECK(note(R"("kv_cache_quant_algo": "FP8")") == eight);
  CHECK(note(R"("kv_cache_quant_algo": "NVFP4")") ==
        "the checkpoint has scales for a KV cache in nvfp4; --kv-precision nvfp4 counts one");
  CHECK(note(R"("kv_cache_quant_algo": null)").empty());
}

TEST_CASE("AWQ has one group per row where its size is -1", "[schemes]") {
  CHECK(packed_up(R"({"quant_method": "awq", "bits": 4, "group_size": -1, "zero_point": true})") ==
        n / 2 + rows * 5 / 2);
  CHECK(packed_up(R"({"quant_method": "awq", "bits": 4, "group_size": -1, "zero_point": false})") == n / 2 + 2 * rows);
}

TEST_CASE("products are in the format of inputs for the components that have quantised ones", "[schemes]") {
  const std::string nvfp4 = R"("targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "float", "strategy":
    "tensor_group", "group_size": 16})";
  const std::string fp8 = R"("targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy":
    "channel"}, "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": true})";
  const ModelCard card = small_card(R"({"quant_method": "compressed-tensors", "format": "mixed-precision",
    "config_groups": {"a": {)" + nvfp4 +
                                    R"(}, "b": {)" + fp8 + "}}}");
  CHECK(card.products == dtypes::fp8);
  CHECK(card.product_parts == NarrowParts(NarrowPart::attention));
  const ModelCard mixed = small_card(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
    "model.layers.0.mlp": {"quant_algo": "NVFP4", "group_size": 16}, "model.layers.1.mlp": {"quant_algo": "NVFP4",
    "group_size": 16}}})");
  CHECK(mixed.products == dtype("nvfp4"));
  CHECK(mixed.product_parts == NarrowParts(NarrowPart::mlp));
}

TEST_CASE("a key of the block that nothing asks for is told", "[schemes]") {
  const auto unknown = [](const std::string& block) { return small_card(block).unknown_keys; };
  using Keys = std::vector<std::string>;
  CHECK(unknown("{" + gptq4 + R"(, "damp_percent": 0.1, "new_rotation": 4, "nothing": null})") ==
        Keys{"quantization_config.new_rotation"});
  CHECK(unknown("{" + gptq4 + R"(, "dynamic": {"+:.*up.*": {"bits": 8, "adapter_rank": 8}}})") ==
        Keys{"quantization_config.dynamic.+:.*up.*.adapter_rank"});
  CHECK(unknown(R"({"quant_algo": "FP8", "outliers": 0.1})") == Keys{"quantization_config.outliers"});
}

TEST_CASE("a model file has a checkpoint's bytes and products", "[schemes]") {
  const auto again = [](const ModelCard& card) { return read_model_file(model_file_json(card), "m.json"); };
  for (const std::string& block :
       {"{" + gptq4 + R"(, "dynamic": {"-:.*self_attn.*": {}}})",
        std::string(R"({"quant_method": "compressed-tensors", "format": "dense", "sparsity_config": {"format":
          "sparse-24-bitmask"}})"),
        std::string(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert":
          ["model.layers.0.self_attn"]})")}) {
    const ModelCard card = small_card(block), read = again(card);
    CHECK(read.weights == card.weights);
    CHECK(bytes_of(read) == bytes_of(card));
    CHECK(read.products == card.products);
  }
  const auto changed = [](const char* key, const char* value) {
    json::Value v = model_file_json(small_card("{" + gptq4 + "}"));
    v[key] = json::parse(value, "value");
    return sentence([&] { read_model_file(v, "m.json"); });
  };
  CHECK_THAT(changed("stored_bytes", R"({"experts": 17, "table": 3})"), Catch::Contains("unknown key \"table\""));
  CHECK_THAT(changed("stored_bytes", R"({"mlp": 9000000000000})"), Catch::Contains("expected at most"));
  CHECK_THAT(changed("products", R"({"format": "bf16"})"), Catch::Contains("fewer than 16 bits"));
  CHECK_THAT(changed("products", R"({"format": "fp8", "of": ["head"]})"), Catch::Contains("attention|mlp|experts"));
}
