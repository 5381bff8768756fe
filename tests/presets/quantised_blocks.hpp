#pragma once
// Quantization blocks applied to a matrix of 512 x 1024 and to a small model.

#include <string>

#include "calc/memory.hpp"
#include "presets/import/import.hpp"
#include "presets/import/quantization/scheme.hpp"
#include "tests/sentence.hpp"

namespace llmcalc::test {

inline constexpr Count rows = 512, columns = 1024, n = rows * columns;

/// Bytes of the matrix with this name: two per element if the quantization block excludes it.
inline Count packed_as(const std::string& block, const std::string& path, Component c = Component::mlp,
                       bool biased = false) {
  const json::Value v = json::parse(block, "block");
  const import::Scheme s = import::scheme(json::Object(v, "block"), {.model_type = "llama", .dtype = "bfloat16"});
  const import::Matrix m{c, {path}, 1, rows, columns, biased};
  const auto p = import::packing_of(s, m);
  return p ? import::packed_bytes(*p, m).value : 2 * n;
}

inline Count packed_up(const std::string& block) { return packed_as(block, "layers.0.mlp.up_proj"); }

/// The matmul format of the matrix.
inline std::string multiplied(const std::string& block, const std::string& path = "layers.0.mlp.up_proj") {
  const json::Value v = json::parse(block, "block");
  const import::Scheme s = import::scheme(json::Object(v, "block"), {.model_type = "llama", .dtype = "bfloat16"});
  const import::Scheme::Group* g = import::group_of(s, {Component::mlp, {path}, 1, rows, columns});
  return g != nullptr && g->products ? std::string(g->products->name()) : "16 bits";
}

/// A model of two layers: 4 heads of width 32, hidden 128, MLP 256, vocabulary 1000.
inline json::Value small_config(const std::string& block, const std::string& more = "") {
  json::Value v = json::parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 128,
    "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16")" +
                                  more + "}",
                              "config");
  v["quantization_config"] = json::parse(block, "block");
  return v;
}
inline constexpr Count attention_numbers = 2 * 4 * 128 * 128, mlp_numbers = 2 * 3 * 128 * 256,
                       table_numbers = 1000 * 128, norm_numbers = 5 * 128;

inline ModelCard small_card(const std::string& block, const std::string& more = "") {
  return import_config(small_config(block, more), "c.json");
}

inline Count bytes_of(const ModelCard& card) {
  Plan p;
  p.weight_precision = *card.weights;
  return weights_bytes(card.arch, p).value;
}

inline std::string refused(const std::string& block) {
  return sentence([&] { small_card(block); });
}

/// A compressed-tensors group with these weights and the additional keys `more`.
inline std::string group_with(const std::string& weights, const std::string& more = "") {
  return R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"], "weights": )" +
         weights + more + "}}, ";
}

inline const std::string gptq4 =
    R"("quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false, "sym": true)";

}  // namespace llmcalc::test
