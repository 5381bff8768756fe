// github.com/NVIDIA/TensorRT-Model-Optimizer, export/quant_utils.py: quant_algo names the format of all matrices that
// are not excluded; export/unified_export_hf.py defines the tensors.

#include <fmt/format.h>

#include <map>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

struct Algorithm {
  std::string_view name, row;
  Count tensor_bytes = -1;         ///< bytes of float32 scales per tensor, for weights and inputs; -1: as in `row`
  std::string_view products = "";  ///< matmul format, if inputs are also quantized
  bool folds_scales = false;       ///< whether input scales are folded into norms and other weights
};

/// W4A16_AWQ and W4A8_AWQ have float32 scales per group, whereas "int4-g128" has 16-bit scales.
constexpr std::array algorithms{
    Algorithm{"FP8", "fp8-tensor", -1, "fp8"},
    Algorithm{"FP8_PER_CHANNEL_PER_TOKEN", "fp8-row32", -1, "fp8"},
    Algorithm{"FP8_PB_WO", "fp8-block", -1, "fp8-block"},
    Algorithm{"MXFP8", "mxfp8", -1, "mxfp8"},
    Algorithm{"NVFP4", "nvfp4-input", -1, "nvfp4"},
    Algorithm{"NVFP4_AWQ", "nvfp4-input", -1, "nvfp4", true},
    Algorithm{"W4A16_NVFP4", "nvfp4"},
    Algorithm{"W4A8_NVFP4_FP8", "nvfp4-input", -1, "fp8"},
    Algorithm{"MXFP4", "mxfp4"},
    Algorithm{"W4A8_MXFP4_FP8", "mxfp4", 4, "fp8"},
    Algorithm{"W4A16_AWQ", "int4-g128", 0, "", true},
    Algorithm{"W4A8_AWQ", "int4-g128", 8, "fp8", true},
    Algorithm{"W8A16", "int8", -1, ""},
    Algorithm{"W8A8_SQ_PER_CHANNEL", "int8", 4, "int8", true},
};

const Algorithm& algorithm_called(const Object& q, const std::string& name) {
  for (const Algorithm& a : algorithms)
    if (a.name == name) return a;
  refuse_scheme(q, fmt::format("ModelOpt's quant_algo {}", in_quotes(name)));
}

/// Packing of an algorithm. The block's group size is used only if the algorithm does not determine it.
Packing packing_of_algorithm(const Object& q, const Algorithm& a) {
  Packing p = packing(row(a.row));
  if (a.tensor_bytes >= 0) p.bytes.tensor_bytes = a.tensor_bytes;
  if (!q.has("group_size") || p.bytes.group_rows > 1 || p.bytes.group <= 0) return p;
  const Count group = group_size(q, fmt::format("ModelOpt's {}", a.name));
  if (a.row == "int4-g128")
    p = {.format = grouped_row("int4", group), .bytes = groups_of("int4", 4, group, 32)};
  else if (group != p.bytes.group)
    refuse_scheme(q, fmt::format("ModelOpt's {} in groups of {}", a.name, group));
  return p;
}

Scheme::Group algorithm_group(Scheme& s, const Object& q, const std::string& name) {
  const Algorithm& a = algorithm_called(q, name);
  Scheme::Group g{.packing = packing_of_algorithm(q, a), .products = dtype(a.products)};
  if (a.row == "int4-g128") g.packing->bytes.group_bits = 32;
  if (a.row == "int4-g128") g.packing->bytes.tensor_bytes = a.tensor_bytes;
  if (a.folds_scales)
    s.caveats.push_back(fmt::format(
        "input scales (pre_quant_scale) of {} that could not be folded into other weights are not counted", name));
  return g;
}

}  // namespace

/// Adds the groups of MIXED_PRECISION, which names an algorithm for each module.
void add_modelopt_layers(Scheme& s, const Object& layers) {
  struct Named {
    std::vector<std::string> modules;
    std::string first;
  };
  std::map<std::pair<std::string, std::string>, Named> by_algorithm;
  for (const std::string& name : layers.keys()) {
    const Object o = layers.object(name);
    const json::Value* group = o.find("group_size");
    Named& n = by_algorithm[{o.text("quant_algo"), group == nullptr ? "" : group->dump()}];
    if (n.modules.empty()) n.first = name;
    n.modules.push_back(name);
    remember_unread(s, o, "quantized_layers." + name);
  }
  for (const auto& [key, named] : by_algorithm) {
    s.groups.push_back(algorithm_group(s, layers.object(named.first), key.first));
    s.groups.back().targets = picked(layers, "quantized_layers", named.modules);
    s.groups.back().said = fmt::format("the layers in {}", key.first);
  }
}

namespace {

/// Bits of the KV cache, from kv_cache_quant_algo ("FP8", "NVFP4" or "INT8") or from config.json's kv_cache_scheme,
/// which has the form used by compressed-tensors.
Count modelopt_cache_bits(const Object& q) {
  for (const char* key : {"kv_cache_quant_algo", "kv_cache_scheme"}) {
    const json::Value* v = q.find(key);
    if (v == nullptr) continue;
    if (v->is_object()) return q.object(key).count_or("num_bits", 8);
    return q.text(key).find("FP4") != std::string::npos ? 4 : 8;
  }
  return 0;
}

}  // namespace

Scheme modelopt(const Object& q, const SchemeContext&) {
  const std::string algorithm = q.text_or("quant_algo", "");
  Scheme s{
      .kept = modules(q, {"exclude_modules", "ignore"}), .head_as_other = true, .cache_bits = modelopt_cache_bits(q)};
  q.find("config_groups");  // in config.json: repeats quant_algo in the form of compressed-tensors
  if (algorithm == "MIXED_PRECISION" && q.has("quantized_layers"))
    add_modelopt_layers(s, q.object("quantized_layers"));
  else if (!algorithm.empty() || s.cache_bits == 0)
    s.groups.push_back(algorithm_group(s, q, algorithm));
  return s;
}

}  // namespace llmcalc::import
