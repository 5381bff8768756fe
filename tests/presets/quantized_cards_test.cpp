// Effects of a quantization block other than matrix bytes.

#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/quantised_blocks.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("the note about KV cache scales names the cache format", "[schemes]") {
  const auto note = [](const std::string& cache) {
    const ModelCard card = small_card(R"({"quant_method": "modelopt", "quant_algo": "FP8", )" + cache + "}");
    return card.caveats.empty() ? std::string() : card.caveats.back();
  };
  const std::string eight = "the checkpoint has scales for an 8-bit KV cache; set --kv-precision fp8 to count it";
  CHECK(note(R"("kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"})") == eight);
  CHECK(note(R"("kv_cache_quant_algo": "FP8")") == eight);
  CHECK(note(R"("kv_cache_quant_algo": "NVFP4")") ==
        "the checkpoint has scales for an nvfp4 KV cache; set --kv-precision nvfp4 to count it");
  CHECK(note(R"("kv_cache_quant_algo": null)").empty());
}

TEST_CASE("matmuls with quantized inputs run in the input format", "[schemes]") {
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
  CHECK(small_card(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})").products == dtype("int8"));
  CHECK_FALSE(small_card(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})").products);
}

TEST_CASE("an unknown key of a quantization config is reported", "[schemes]") {
  const auto unknown = [](const std::string& block) { return small_card(block).unknown_keys; };
  using KeyNames = std::vector<std::string>;
  CHECK(unknown("{" + gptq4 + R"(, "damp_percent": 0.1, "new_rotation": 4, "nothing": null})") ==
        KeyNames{"quantization_config.new_rotation"});
  CHECK(unknown("{" + gptq4 + R"(, "dynamic": {"+:.*up.*": {"bits": 8, "adapter_rank": 8}}})") ==
        KeyNames{"quantization_config.dynamic.+:.*up.*.adapter_rank"});
  CHECK(unknown(R"({"quant_algo": "FP8", "outliers": 0.1})") == KeyNames{"quantization_config.outliers"});
}

TEST_CASE("a model file preserves a checkpoint's bytes and matmul formats", "[schemes]") {
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
