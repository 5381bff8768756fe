// github.com/pytorch/ao, quantization/quant_api.py, quantize_/workflows/ and prototype/mx_formats/. Settings have
// other names in older versions of transformers than in newer ones.

#include <fmt/format.h>

#include <array>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;
using json::Value;

const Value no_data = Value::object();

/// A quantization setting: the name of its class, and its fields.
struct AoConfig {
  std::string name;
  Object data;
};

/// Reads { "_type": NAME, "_data": { ... } }.
AoConfig config_in(const Object& o) {
  return {o.text_or("_type", ""), o.has("_data") ? o.object("_data") : Object(no_data, o.where())};
}

/// Text of a value that is stored directly or as { "_type": ..., "_data": VALUE }.
std::string plain_text(const Value* v) {
  if (v == nullptr) return "";
  if (v->is_object() && v->contains("_data")) return plain_text(&(*v)["_data"]);
  return v->is_string() ? v->get<std::string>() : v->dump();
}

/// Class of the weights' granularity: "PerRow", "PerTensor", "PerGroup". The value may be a list with entries for
/// inputs and for weights.
std::string granularity_in(const Object& data, const std::string& otherwise) {
  const Value* v = data.find("granularity");
  if (v == nullptr) return otherwise;
  if (v->is_array()) v = v->empty() ? nullptr : &v->back();
  if (v != nullptr && v->is_object() && v->contains("_type")) return plain_text(&(*v)["_type"]);
  return v != nullptr && v->is_string() ? v->get<std::string>() : otherwise;
}

/// Number of columns that share a scale, read from `key`; -1: a whole row.
Count granularity_group(const Object& data, std::string_view key, Count otherwise) {
  const Value* v = data.find(key);
  if (v == nullptr) return otherwise;
  const Value* inside = v->is_object() && v->contains("_data") ? &(*v)["_data"] : v;
  if (!inside->is_object() || !inside->contains("group_size")) return -1;
  return Object(*inside, data.where()).positive("group_size");
}

/// fp8 values with a float32 scale per row or per tensor.
Scheme::Group float8_group(const Object& data, const std::string& usual, bool inputs) {
  const std::string by = granularity_in(data, usual);
  if (by != "PerRow" && by != "PerTensor") refuse_scheme(data, fmt::format("torchao's granularity {}", in_quotes(by)));
  Scheme::Group g;
  g.packing = by == "PerRow" ? packing(row("fp8-row32")) : with_tensor_bytes(row("fp8-tensor"), 4);
  if (inputs) g.products = dtypes::fp8;
  return g;
}

/// Integers of 1 to 8 bits stored in one byte each, with a scale in the weights' dtype or in float32 and a one-byte
/// zero point per group (workflows/intx/intx_unpacked_to_int8_tensor.py).
Scheme::Group intx_group(const Object& data, bool inputs) {
  const std::string layout = plain_text(data.find("intx_packing_format"));
  if (!layout.empty() && lower(layout) != "unpacked_to_int8")
    refuse_scheme(data, fmt::format("torchao's intx_packing_format {}", in_quotes(layout)));
  const Count group =
      inputs ? granularity_group(data, "weight_granularity", 32) : granularity_group(data, "granularity", -1);
  const std::string scale = plain_text(data.find(inputs ? "weight_scale_dtype" : "scale_dtype"));
  data.find("weight_dtype");
  Scheme::Group g;
  g.packing = packing(row(group > 0 ? "int8-g128" : "int8-row"),
                      groups_of("intx", 8, group, (scale.find("float32") == std::string::npos ? 16 : 32) + 8));
  if (inputs) g.products = row("int8");
  return g;
}

Scheme::Group int4_group(const Object& data) {
  const Count group = data.count_or("group_size", 128);
  if (group == 0) refuse_scheme(data, "torchao's int4 in groups of 0");
  return {.packing = packing(grouped_row("int4", group), groups_of("int4", 4, group, 32))};
}

/// 4-bit integers stored in one byte each, with a 16-bit scale and an int32 zero point per group (quant_api.py of
/// 2025).
Scheme::Group int4_as_int8_group(const Object& data) {
  const Count group = data.count_or("group_size", 32);
  if (group == 0) refuse_scheme(data, "torchao's int4 in groups of 0");
  return {.packing = packing(row("int8-g128"), groups_of("int4", 8, group, 48)),
          .targets = {},
          .products = row("int8"),
          .said = {}};
}

Scheme::Group int8_group(bool inputs) {
  Scheme::Group g{.packing = packing(row("int8-row"))};
  if (inputs) g.products = row("int8");
  return g;
}

/// MX values with a scale byte per 32 values (inference_workflow.py, MXDynamicActivationMXWeightConfig). Both
/// operands have the same format. Scales are stored in tiles, as matmul kernels read them.
Scheme::Group mx_group(const Object& data) {
  if (data.count_or("block_size", 32) != 32) refuse_scheme(data, "torchao's MX in blocks other than 32");
  std::string type = plain_text(data.find("weight_dtype"));
  if (type.starts_with("torch.")) type = type.substr(6);
  for (const char* key : {"activation_dtype", "kernel_preference", "scaling_mode"}) data.find(key);
  const bool four = type == "float4_e2m1fn_x2";
  if (!four && !type.empty() && type != "float8_e4m3fn" && type != "float8_e5m2")
    refuse_scheme(data, fmt::format("torchao's MX in {}", in_quotes(type)));
  const DType t = row(four ? "mxfp4" : "mxfp8");
  Scheme::Group g{.packing = packing(t)};
  g.packing->tiled_scales = true;
  g.products = t;
  return g;
}

/// NVFP4 values with a scale byte per 16 values, and float32 scales per matrix: one for the weights, unless the block
/// disables it, and one for the input, if it was measured beforehand ("step": "convert"). `inputs`: whether inputs are
/// also quantized.
Scheme::Group nvfp4_group(const Object& data, bool inputs) {
  const std::string step = data.has("step") ? lower(plain_text(data.find("step"))) : "";
  if (!step.empty() && step != "convert")
    refuse_scheme(data, fmt::format("torchao's NVFP4 at step {}", in_quotes(step)));
  const bool scaled = data.flag_or("use_dynamic_per_tensor_scale", true);
  data.find("use_triton_kernel");
  Scheme::Group g{.packing = with_tensor_bytes(row("nvfp4"), step == "convert" ? 8 : scaled ? 4 : 0)};
  g.packing->tiled_scales = true;
  if (inputs) g.products = row("nvfp4");
  return g;
}

Scheme::Group group_in(const Object& q, const AoConfig& c) {
  const auto is = [&](std::string_view a, std::string_view b) { return c.name == a || c.name == b; };
  if (is("int4_weight_only", "Int4WeightOnlyConfig")) return int4_group(c.data);
  if (is("int8_weight_only", "Int8WeightOnlyConfig")) return int8_group(false);
  if (is("int8_dynamic_activation_int8_weight", "Int8DynamicActivationInt8WeightConfig")) return int8_group(true);
  if (is("int8_dynamic_activation_int4_weight", "Int8DynamicActivationInt4WeightConfig"))
    return int4_as_int8_group(c.data);
  if (is("float8_weight_only", "Float8WeightOnlyConfig")) return float8_group(c.data, "PerRow", false);
  if (is("float8_dynamic_activation_float8_weight", "Float8DynamicActivationFloat8WeightConfig"))
    return float8_group(c.data, "PerTensor", true);
  if (c.name == "MXDynamicActivationMXWeightConfig") return mx_group(c.data);
  if (c.name == "NVFP4DynamicActivationNVFP4WeightConfig") return nvfp4_group(c.data, true);
  if (c.name == "NVFP4WeightOnlyConfig") return nvfp4_group(c.data, false);
  if (c.name == "IntxWeightOnlyConfig") return intx_group(c.data, false);
  if (c.name == "Int8DynamicActivationIntxWeightConfig") return intx_group(c.data, true);
  refuse_scheme(q, fmt::format("torchao's quant_type {}", in_quotes(c.name)));
}

/// Adds modules with separate settings; modules whose settings are null stay in the config's dtype. Named modules
/// come first, then expressions in order, then "_default".
void add_by_name(Scheme& s, const Object& q, const Object& data) {
  const char* key =
      data.has("fqn_to_config") && !data.value()["fqn_to_config"].empty() ? "fqn_to_config" : "module_fqn_to_config";
  data.find("fqn_to_config");
  const Object by = data.object(key);
  const auto rank = [](const std::string& name) { return name == "_default" ? 2 : name.starts_with("re:") ? 1 : 0; };
  for (int now = 0; now <= 2; ++now)
    for (const std::string& name : by.keys()) {
      if (rank(name) != now) continue;
      Scheme::Group g;
      if (by.has(name)) g = group_in(q, config_in(by.object(name)));
      if (now < 2) g.targets = picked(q, key, {name});
      if (now < 2) g.said = name;
      s.head_as_other = s.head_as_other || (g.packing && name.find("lm_head") != std::string::npos);
      s.table_as_other = s.table_as_other || (g.packing && name.find("embed") != std::string::npos);
      s.groups.push_back(std::move(g));
    }
}

AoConfig setting_of(const Object& q) {
  const Value* type = q.find("quant_type");
  if (type != nullptr && type->is_string())
    return {type->get<std::string>(),
            q.has("quant_type_kwargs") ? q.object("quant_type_kwargs") : Object(no_data, q.where())};
  return type == nullptr ? AoConfig{"", Object(no_data, q.where())}
                         : config_in(q.object("quant_type").object("default"));
}

}  // namespace

Scheme torchao(const Object& q, const SchemeContext&) {
  const AoConfig c = setting_of(q);
  Scheme s{.kept = modules(q, {"modules_to_not_convert"})};
  s.head_as_other = s.table_as_other = q.flag_or("include_input_output_embeddings", false);
  if (c.name == "ModuleFqnToConfig" || c.name == "FqnToConfig")
    add_by_name(s, q, c.data);
  else
    s.groups.push_back(group_in(q, c));
  remember_unread(s, c.data, "quant_type");
  return s;
}

}  // namespace llmcalc::import
