// Quantization blocks with different formats by matrix, and layouts from the methods' own code: bytes of 512 x 1024
// matrices counted by hand.

#include "tests/catch.hpp"
#include "tests/presets/quantised_blocks.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

// AutoGPTQ, nn_modules/qlinear: qweight, a 16-bit scale and a zero point per group, g_idx as int32 per column with or
// without desc_act, and a bias; in GPTQModel only layers with a bias in the model have one.
TEST_CASE("GPTQ layers have group indices and biases for all bit widths and group sizes", "[schemes]") {
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
  CHECK_THAT(refused(block(5, 128)), Catch::Contains("GPTQ with 5 bits is not supported"));
  CHECK_THAT(refused(block(4, 48)), Catch::Contains("GPTQ with 4 bits in groups of 48 is not supported"));
  CHECK_THAT(refused(block(4, 128, R"(, "checkpoint_format": "marlin")")),
             Catch::Contains("checkpoint_format \"marlin\""));
}

TEST_CASE("GPTQModel's dynamic settings exclude or change modules, with the first match taking effect", "[schemes]") {
  const std::string block = "{" + gptq4 + R"(, "dynamic": {"-:.*self_attn.*": {}, "+:.*down_proj.*": {"bits": 8,
    "group_size": 32}, ".*\\.0\\..*down_proj": {"bits": 2}}})";
  constexpr Count besides = 4 * columns + 2 * rows;
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") == 2 * n);
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == n + n / 32 * 3 + besides);
  CHECK(packed_up(block) == n / 2 + n / 128 * 5 / 2 + besides);
  // In a model: attention with two bytes per element; down has 128 rows of 256, gate and up have 256 of 128.
  const auto layer = [](Count r, Count c, Count bits, Count group) {
    return r * c * bits / 8 + r * c / group * (16 + bits) / 8 + 4 * c + 2 * r;
  };
  const ModelCard card = small_card(block);
  CHECK(bytes_of(card) == 2 * (attention_numbers + 2 * table_numbers + norm_numbers) +
                              2 * (2 * layer(256, 128, 4, 128) + layer(128, 256, 8, 32)));
  CHECK(card.unknown_keys.empty());
}

TEST_CASE("modules that a GPTQ config does not list stay unquantized", "[schemes]") {
  const std::string block = "{" + gptq4 + R"(, "modules_in_block_to_quantize": [["self_attn.q_proj"],
    ["mlp.gate_proj", "mlp.up_proj"]]})";
  CHECK(packed_as(block, "layers.0.mlp.down_proj") == 2 * n);
  CHECK(packed_as(block, "layers.0.self_attn.q_proj") < n);
  CHECK(packed_up(block) < n);
}

// auto_round, export/export_to_autoround: GPTQ's layout without g_idx and zero biases; AWQ's; MX and NVFP4.
TEST_CASE("AutoRound's formats apply to all layers or to named ones", "[schemes]") {
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
  CHECK(packed_as(extra, "layers.0.mlp.down_proj") == n / 4 + n / 128 * 18 / 8);  // exact names go first
  CHECK(packed_as(extra, "layers.1.mlp.down_proj") == n + n / 128 * 3);
  CHECK_THAT(refused(block(R"("bits": 4, "data_type": "fp")")), Catch::Contains("data_type \"fp\" with 4 bits"));
}

TEST_CASE("Quark's settings can be given by layer name and by class", "[schemes]") {
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

// hqq, core/bitpack.py: ten 3-bit values per int32, across groups (axis 1) or within one (axis 0).
TEST_CASE("HQQ's settings can be given by module, and its 3-bit values are packed into int32", "[schemes]") {
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

TEST_CASE("EXL has a separate bit width for the head", "[schemes]") {
  const auto head = [](const std::string& block) { return packed_as(block, "lm_head", Component::lm_head); };
  const std::string third = R"({"quant_method": "exl3", "bits": 4.0, "head_bits": 6})";
  CHECK(head(third) == n * 6 / 8 + 2 * (rows + columns));
  CHECK(packed_up(third) == n / 2 + 2 * (rows + columns));
  CHECK(head(R"({"quant_method": "exl2", "bits": 4.25, "head_bits": 6})") == n * 6 / 8);
  CHECK(head(R"({"quant_method": "exl3", "bits": 5.0})") == n * 5 / 8 + 2 * (rows + columns));
}

// Qwen/Qwen3-1.7B-FP8's header has BF16 scales; DeepSeek-V3's has F32.
TEST_CASE("fp8 block scales have the family's format", "[schemes]") {
  const auto scale_bytes = [](const char* type) {
    json::Value v = small_config(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})",
                                 R"(, "head_dim": 32, "num_key_value_heads": 4)");
    v["model_type"] = type;
    const ModelCard card = import_config(v, "c.json");
    const Count norms = card.arch.qk_norm == QkNorm::none ? norm_numbers : norm_numbers + 2 * 2 * 32;
    return bytes_of(card) - (attention_numbers + mlp_numbers) - 2 * (2 * table_numbers + norms);
  };
  constexpr Count blocks = (attention_numbers + mlp_numbers) / (128 * 128);
  CHECK(scale_bytes("llama") == 4 * blocks);
  CHECK(scale_bytes("qwen3") == 2 * blocks);
}

TEST_CASE("storage layouts of compressed-tensors follow its config's settings", "[schemes]") {
  const std::string int4 =
      R"({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true})";
  // Every second element, each with a two-bit index: 2 + 1 bits per element, and a 16-bit scale per group.
  CHECK(packed_up(group_with(int4) + R"("format": "marlin-24", "sparsity_config": {"format": "dense"}})") ==
        n / 4 + n / 8 + n / 128 * 2);
  const auto blocks = [](const std::string& size) {
    return group_with(R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": )" + size + "}") +
           R"("format": "float-quantized"})";
  };
  CHECK(packed_up(blocks("[64, 64]")) == n + n / (64 * 64) * 2);
  CHECK(packed_up(blocks("[128, 128]")) == n + n / (128 * 128) * 2);
  const std::string mxfp8 = R"({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32})";
  CHECK(packed_up(group_with(mxfp8) + R"("format": "mxfp8-quantized"})") == n + n / 32);
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
  // fp8 per tensor: a 16-bit scale for the matrix and one for its input.
  CHECK(packed_up(group_with(R"({"num_bits": 8, "type": "float", "strategy": "tensor"})",
                             R"(, "input_activations": {"num_bits": 8, "type": "float", "strategy": "tensor",
    "dynamic": false})") +
                  R"("format": "float-quantized"})") == n + 4);
  CHECK_THAT(refused(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["LlamaMLP"],
    "weights": )" + int4 +
                     "}}}"),
             Catch::Contains("the class \"LlamaMLP\" in \"targets\" is not supported"));
  const ModelCard unmatched = small_card(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets":
    ["re:.*experts.*"], "weights": )" + int4 +
                                         "}}}");
  CHECK(unmatched.caveats.at(0) ==
        "\"quantization_config\": the group \"g\" matches no matrix of the model outside the preceding groups");
}

// compressors/sparse_24_bitmask.py: half of the two-byte elements, a bit per element, and the shape.
TEST_CASE("a sparse checkpoint of compressed-tensors may have unquantized weights", "[schemes]") {
  const std::string block = R"({"quant_method": "compressed-tensors", "format": "dense", "sparsity_config": {"format":
    "sparse-24-bitmask", "ignore": ["lm_head"], "targets": ["Linear"], "sparsity_structure": "2:4"}})";
  CHECK(packed_up(block) == n + n / 8 + 16);
  CHECK(packed_as(block, "lm_head", Component::lm_head) == 2 * n);
  CHECK(small_card(block).unknown_keys.empty());
  // Seven matrices in each of two layers.
  const Count sparse = attention_numbers + mlp_numbers;
  CHECK(bytes_of(small_card(block)) == sparse + sparse / 8 + 14 * 16 + 2 * (2 * table_numbers + norm_numbers));
}

TEST_CASE("quantization groups for named modules take precedence over a group for all modules", "[schemes]") {
  const std::string block = R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
    "all": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
    "down": {"targets": ["re:.*down_proj"], "weights": {"num_bits": 4, "type": "float", "group_size": 32}}}})";
  CHECK(packed_as(block, "layers.1.mlp.down_proj") == n / 2 + n / 32);
  CHECK(packed_up(block) == n + 2 * rows);
}

// quant_api.py: fp8 has a float32 scale per row or tensor; integers of IntxWeightOnly take a byte each, with a 16-bit
// scale and a one-byte zero point.
TEST_CASE("torchao's granularity and per-module settings are read", "[schemes]") {
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

// prototype/mx_formats/inference_workflow.py: a one-byte scale per 32 elements, or per 16 with a float32 scale per
// matrix.
TEST_CASE("torchao's MX and NVFP4 settings select weight and matmul formats", "[schemes]") {
  const auto block = [](const std::string& type, const std::string& data) {
    return R"({"quant_method": "torchao", "quant_type": {"default": {"_type": ")" + type + R"(", "_data": )" + data +
           "}}}";
  };
  const std::string mx = "MXDynamicActivationMXWeightConfig", nv = "NVFP4DynamicActivationNVFP4WeightConfig";
  const std::string fp4 = R"({"block_size": 32, "activation_dtype": {"_type": "torch.dtype", "_data":
    "float4_e2m1fn_x2"}, "weight_dtype": {"_type": "torch.dtype", "_data": "float4_e2m1fn_x2"}})";
  CHECK(packed_up(block(mx, "{}")) == n + n / 32);
  CHECK(multiplied(block(mx, "{}")) == "mxfp8");
  CHECK(packed_up(block(mx, fp4)) == n / 2 + n / 32);
  CHECK(multiplied(block(mx, fp4)) == "mxfp4");
  CHECK(packed_up(block(nv, "{}")) == n / 2 + n / 16 + 4);
  CHECK(multiplied(block(nv, "{}")) == "nvfp4");
  CHECK(packed_up(block(nv, R"({"use_dynamic_per_tensor_scale": false})")) == n / 2 + n / 16);
  CHECK(packed_up(block(nv, R"({"use_dynamic_per_tensor_scale": false, "step": {"_type": "QuantizationStep",
    "_data": "CONVERT"}})")) == n / 2 + n / 16 + 8);
  CHECK(packed_up(block("NVFP4WeightOnlyConfig", "{}")) == n / 2 + n / 16 + 4);
  CHECK(multiplied(block("NVFP4WeightOnlyConfig", "{}")) == "16 bits");
  CHECK_THAT(refused(block(mx, R"({"block_size": 16})")), Catch::Contains("MX in blocks other than 32"));
  CHECK_THAT(refused(block(mx, R"({"weight_dtype": "fp6_e2m3"})")), Catch::Contains("torchao's MX in \"fp6_e2m3\""));
  CHECK_THAT(refused(block(nv, R"({"step": "prepare"})")), Catch::Contains("NVFP4 at step \"prepare\""));
}

TEST_CASE("tiled scales are padded to full tiles", "[schemes]") {
  import::Packing p = import::packing(*dtype("mxfp8"));
  const import::Matrix m{Component::mlp, {"up"}, 2, 130, 96};
  CHECK(import::packed_bytes(p, m) == Bytes(2 * (130 * 96 + 130 * 3)));
  p.tiled_scales = true;
  CHECK(import::packed_bytes(p, m) == Bytes(2 * (130 * 96 + 256 * 4)));  // 2 x 1 tiles of 128 x 4
}

TEST_CASE("torchao quantizes token embeddings if its config includes them", "[schemes]") {
  const auto block = [](const char* tables) {
    return std::string(R"({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}},
    "include_input_output_embeddings": )") +
           tables + "}";
  };
  // A 16-bit scale per row: 4 x 128 attention rows and 2 x 256 + 128 MLP rows per layer, 1000 per table.
  const Count matrices = attention_numbers + mlp_numbers, scales = 2 * 2 * (4 * 128 + 2 * 256 + 128);
  CHECK(bytes_of(small_card(block("false"))) == matrices + scales + 2 * (2 * table_numbers + norm_numbers));
  CHECK(bytes_of(small_card(block("true"))) == matrices + scales + 2 * (table_numbers + 2 * 1000) + 2 * norm_numbers);
  CHECK(bytes_of(small_card(block("true"), R"(, "tie_word_embeddings": true)")) ==
        matrices + scales + table_numbers + 2 * 1000 + 2 * norm_numbers);
}

// modelopt, export/unified_export_hf.py: scales are float32, except for nvfp4 and mxfp4 groups.
TEST_CASE("each ModelOpt algorithm has specific scales, and quantized inputs enable low-precision matmuls",
          "[schemes]") {
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

TEST_CASE("AWQ with group size -1 has one group per row", "[schemes]") {
  CHECK(packed_up(R"({"quant_method": "awq", "bits": 4, "group_size": -1, "zero_point": true})") ==
        n / 2 + rows * 5 / 2);
  CHECK(packed_up(R"({"quant_method": "awq", "bits": 4, "group_size": -1, "zero_point": false})") == n / 2 + 2 * rows);
}

// mlx-lm writes no quant_method: settings for all modules, and for some by name.
TEST_CASE("MLX packs matrices, tables and routers, with a scale and a bias per group", "[quantized]") {
  const Count packed = (attention_numbers + mlp_numbers + 2 * table_numbers) * (64 * 4 + 32) / 64 / 8;
  CHECK(bytes_of(small_card(R"({"group_size": 64, "bits": 4})")) == packed + 2 * norm_numbers);
  json::Value alone = small_config("{}");
  alone.erase("quantization_config");
  alone["quantization"] = json::parse(R"({"group_size": 64, "bits": 4, "mode": "affine"})", "block");
  CHECK(bytes_of(import_config(alone, "c.json")) == packed + 2 * norm_numbers);
  CHECK(packed_up(R"({"group_size": 32, "bits": 6})") == n * 6 / 8 + n / 32 * 4);
  CHECK(packed_up(R"({"group_size": 64, "bits": 4, "model.layers.0.mlp.up_proj": {"group_size": 32, "bits": 8}})") ==
        n + n / 32 * 4);
  CHECK(packed_up(R"({"group_size": 64, "bits": 4, "model.layers.0.mlp.up_proj": false})") == 2 * n);
  CHECK(packed_up(R"({"group_size": 32, "bits": 4, "mode": "mxfp4"})") == n / 2 + n / 32);
  CHECK(packed_up(R"({"group_size": 16, "bits": 4, "mode": "nvfp4"})") == n / 2 + n / 16);
  CHECK_THAT(refused(R"({"group_size": 64, "bits": 7})"), Catch::Contains("MLX with 7 bits in groups of 64"));
}
