// AMD Quark's export to transformers (hf quantizers/quantizer_quark.py): one setting for all modules that are not
// excluded, and separate settings for layers by name or by class.

#include <fmt/format.h>

#include <bit>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Contents of "input_tensors" or "weight".
struct QuarkTensor {
  std::string type, by;
  Count group = 0;
  bool dynamic = false;
};

QuarkTensor tensor_in(Scheme& s, const Object& o, const std::string& key) {
  const Object t = o.object(key);
  QuarkTensor out{.type = t.text_or("dtype", ""), .by = t.text_or("qscheme", "")};
  out.group = t.count_or("group_size", 0);
  out.dynamic = t.flag_or("is_dynamic", false);
  remember_unread(s, t, key);
  return out;
}

[[noreturn]] void refuse_tensor(const Object& q, const QuarkTensor& w) {
  refuse_scheme(q, fmt::format("Quark's weights of type {} with scheme {} and group size {}", w.type, w.by, w.group));
}

/// Packing with float32 scales for rows and tensors, and 16-bit scales for integer groups. Zero points have the bits
/// of a value.
Packing quark_packing(const Object& q, const QuarkTensor& w) {
  const bool tensor = w.by == "per_tensor", channel = w.by == "per_channel", group = w.by == "per_group";
  if (w.type == "fp8_e4m3" && tensor) return with_tensor_bytes(row("fp8-tensor"), 4);
  if (w.type == "fp8_e4m3" && channel) return packing(row("fp8-row32"));
  if (w.type == "fp4" && group && w.group == 32) return packing(row("mxfp4"));
  if (w.type == "int8" && channel) return packing(row("int8"));
  const bool zeros = w.type == "uint4", size = w.group >= 8 && std::has_single_bit(static_cast<std::uint64_t>(w.group));
  if ((w.type != "int4" && !zeros) || !group || !size) refuse_tensor(q, w);
  return packing(grouped_row(zeros ? "awq" : "int4", w.group), groups_of("quark", 4, w.group, zeros ? 20 : 16));
}

std::optional<DType> quark_products(const QuarkTensor& inputs, DType weights) {
  if (inputs.type == "fp8_e4m3") return dtypes::fp8;
  if (inputs.type == "int8") return row("int8");
  return inputs.type == "fp4" ? products_in(weights) : std::nullopt;
}

/// Group for a setting. If the setting has no "weight", the layers stay in the config's dtype.
Scheme::Group quark_group(Scheme& s, const Object& o) {
  Scheme::Group g;
  if (!o.has("weight")) return g;
  g.packing = quark_packing(o, tensor_in(s, o, "weight"));
  if (!o.has("input_tensors")) return g;
  const QuarkTensor inputs = tensor_in(s, o, "input_tensors");
  g.products = quark_products(inputs, g.packing->format);
  if (inputs.by == "per_tensor" && !inputs.dynamic) g.packing->bytes.tensor_bytes += 4;
  return g;
}

void add_named_layers(Scheme& s, const Object& q) {
  if (!q.has("layer_quant_config")) return;
  const Object layers = q.object("layer_quant_config");
  for (const std::string& name : layers.keys()) {
    Scheme::Group g;
    if (layers.has(name)) g = quark_group(s, layers.object(name));
    g.targets = picked(q, "layer_quant_config", {name});
    g.said = name;
    s.groups.push_back(std::move(g));
  }
}

/// Group for linear layers: with the setting for their class if the block has one, otherwise with the global setting.
Scheme::Group linear_layers(Scheme& s, const Object& q) {
  if (q.has("layer_type_quant_config")) {
    const Object types = q.object("layer_type_quant_config");
    for (const std::string& name : types.keys()) {
      if (name.find("Linear") == std::string::npos)
        refuse_scheme(q, fmt::format("the class {} in \"layer_type_quant_config\"", in_quotes(name)));
      return quark_group(s, types.object(name));
    }
  }
  return quark_group(s, q.object("global_quant_config"));
}

Count quark_cache_bits(const Object& q) {
  const json::Value* named = q.find("kv_cache_quant_config");
  const json::Value* exported = q.find("export");
  const bool grouped = exported != nullptr && exported->is_object() && exported->contains("kv_cache_group") &&
                       !says_nothing((*exported)["kv_cache_group"]);
  return grouped || (named != nullptr && !says_nothing(*named)) ? 8 : 0;
}

}  // namespace

Scheme quark(const Object& q, const SchemeContext&) {
  Scheme s{.kept = modules(q, {"exclude"}), .head_as_other = true, .cache_bits = quark_cache_bits(q)};
  add_named_layers(s, q);
  s.groups.push_back(linear_layers(s, q));
  if (!s.groups.back().packing && s.groups.size() == 1) refuse_scheme(q, "\"global_quant_config\" without weights");
  return s;
}

}  // namespace llmcalc::import
