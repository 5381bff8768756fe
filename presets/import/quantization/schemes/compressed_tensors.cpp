// github.com/neuralmagic/compressed-tensors: quantization/quant_args.py defines the quantization,
// lifecycle/initialize.py the scales (which have the weights' dtype), and compressors/ the storage.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Contents of a group's "weights".
struct SchemeArguments {
  std::string type, strategy;
  Count bits = 0, group = 0;  ///< bits per value, and values per group; group -1: one group per row
  bool symmetric = true;
  std::vector<Count> block{128, 128};
};

SchemeArguments arguments_of(const Object& w) {
  SchemeArguments a{.type = w.text_or("type", "int"), .strategy = w.text_or("strategy", "tensor")};
  a.bits = w.count("num_bits");
  const json::Value* group = w.find("group_size");
  const bool whole_row = group != nullptr && group->is_number_integer() && *group < 0;
  a.group = a.strategy == "channel" || whole_row ? -1 : w.count_or("group_size", 0);
  a.symmetric = w.flag_or("symmetric", true);
  const json::Value* block = w.find("block_structure");
  if (block != nullptr && block->is_array()) a.block = w.counts("block_structure");
  return a;
}

[[noreturn]] void refuse_arguments(const Object& w, const SchemeArguments& a) {
  refuse_scheme(
      w, fmt::format("{} bits of type \"{}\" with strategy {} and group size {}", a.bits, a.type, a.strategy, a.group));
}

/// Packing of floating-point formats: fp8 with 16-bit scales per block, row or tensor; mxfp8; mxfp4; and nvfp4, which
/// has a float32 scale for inputs if these are also quantized.
Packing float_packing(const Object& w, const SchemeArguments& a, bool inputs) {
  if (a.bits == 4 && a.group == 16) return packing(row(inputs ? "nvfp4-input" : "nvfp4"));
  if (a.bits == 4 && a.group == 32) return packing(row("mxfp4"));
  if (a.bits == 8 && a.group == 32) return packing(row("mxfp8"));
  if (a.bits != 8) refuse_arguments(w, a);
  if (a.strategy == "channel") return packing(row("fp8-row"));
  if (a.strategy == "tensor") return with_tensor_bytes(row("fp8-tensor"), 2);
  if (a.strategy != "block" || a.block.size() != 2 || a.block[0] == 0 || a.block[1] == 0) refuse_arguments(w, a);
  Format f = groups_of("fp8-block", 8, a.block[1], 16);
  f.group_rows = a.block[0];
  return packing(row("fp8-block"), f);
}

DType integer_row(const SchemeArguments& a) {
  if (a.bits == 8) return row(a.group > 0 ? "int8-g128" : "int8-row");
  if (!a.symmetric) return grouped_row("awq", a.group);
  return a.group < 0 ? row("int4-row") : grouped_row("int4", a.group);
}

/// Packing of integers: a 16-bit scale and, if asymmetric, a zero point with as many bits as a value.
Packing integer_packing(const Object& w, const SchemeArguments& a) {
  const bool tensor = a.strategy == "tensor" && a.group == 0;
  if ((a.bits != 4 && a.bits != 8) || (!tensor && a.group == 0)) refuse_arguments(w, a);
  const Count scale = 16 + (a.symmetric ? 0 : a.bits);
  Packing p = packing(integer_row(a), groups_of("int", a.bits, a.group, scale));
  if (tensor) p.bytes = groups_of("int", a.bits, 0, 0);
  if (tensor) p.bytes.tensor_bytes = ceil_div(scale, 8);
  return p;
}

/// Sets the storage of integers. Packed integers are stored with their shape as two int64 values and, with act-order,
/// an int32 index per column. "marlin-24" stores half of the values, each with two bits for its position. Other
/// layouts use a byte for a 4-bit value.
void lay_out(Packing& p, const Object& w, const std::string& layout) {
  const json::Value* order = w.find("actorder");
  if (order != nullptr && (*order == "group" || *order == "dynamic" || *order == true)) p.bytes.column_bits = 32;
  if (layout == "marlin-24") {
    p.bytes.element_bits = p.bytes.element_bits / 2 + 1;
  } else if (layout == "pack-quantized") {
    p.bytes.tensor_bytes = 16;
  } else if (!layout.empty() && p.bytes.element_bits == 4) {
    p.bytes.element_bits = 8;
  }
}

Packing packing_of_group(const Object& group, const std::string& layout) {
  const Object w = group.object("weights");
  const SchemeArguments a = arguments_of(w);
  const bool inputs = group.has("input_activations");
  if (a.type != "float" && a.type != "int") refuse_arguments(w, a);
  Packing p = a.type == "float" ? float_packing(w, a, inputs) : integer_packing(w, a);
  if (a.type == "int") lay_out(p, w, layout);
  return p;
}

/// Bytes of the static scale for a tensor's inputs; 0 without such a scale. For nvfp4, this scale is counted with the
/// weights.
Count input_scale_bytes(const Object& inputs) {
  const json::Value* dynamic = inputs.find("dynamic");
  const bool known = dynamic == nullptr || *dynamic == false;
  return known && inputs.text_or("strategy", "tensor") == "tensor" ? 2 : 0;
}

/// Matmul format for quantized inputs. Weights with fewer bits are dequantized to it.
std::optional<DType> products_of_inputs(const Object& inputs, DType weights) {
  const Count bits = inputs.count_or("num_bits", 8);
  const bool is_float = inputs.text_or("type", "int") == "float";
  if (bits < 8) return products_in(weights);
  const std::optional<DType> own = products_in(weights);
  const bool same = own && whole_bits(own->format()) == 8 && (own->format().peak == Peak::int8) != is_float;
  if (same) return own;
  return is_float ? dtypes::fp8 : row("int8");
}

/// Throws InputError for a class other than "Linear", since its weights are unknown or nonexistent.
void check_classes(const Object& group, const std::vector<std::string>& targets) {
  for (const std::string& t : targets)
    if (!t.empty() && std::isupper(static_cast<unsigned char>(t[0])) != 0 && t.find('.') == std::string::npos)
      refuse_scheme(group, fmt::format("the class {} in \"targets\"", in_quotes(t)));
}

Scheme::Group read_group(Scheme& s, const Object& q, const std::string& key) {
  const Object group = q.object("config_groups").object(key);
  std::vector<std::string> targets = group.texts("targets");
  const bool all = std::find(targets.begin(), targets.end(), "Linear") != targets.end();
  if (!all) check_classes(group, targets);
  Scheme::Group g;
  g.packing = packing_of_group(group, group.text_or("format", q.text_or("format", "")));
  if (!all) g.targets = picked(group, "targets", targets);
  if (!all) g.said = fmt::format("the group {}", in_quotes(key));
  if (group.has("input_activations")) {
    const Object inputs = group.object("input_activations");
    g.products = products_of_inputs(inputs, g.packing->format);
    if (whole_bits(g.packing->format.format()) >= 8 || inputs.count_or("num_bits", 8) == 8)
      g.packing->bytes.tensor_bytes += input_scale_bytes(inputs);
  }
  remember_unread(s, group, "config_groups." + key);
  return g;
}

DType base_row(const SchemeContext& context) {
  if (context.dtype == "float32") return dtypes::fp32;
  return context.dtype == "float16" ? dtypes::fp16 : dtypes::bf16;
}

/// Applies 2:4 sparsity (compressors/sparse_24_bitmask.py), which stores half of the values, a bit for each value,
/// and the shape. A block with only sparsity has no groups.
void make_sparse(Scheme& s, const Object& q, const SchemeContext& context) {
  if (!q.has("sparsity_config")) return;
  const Object sparse = q.object("sparsity_config");
  const std::string how = sparse.text_or("format", "dense");
  if (how == "dense") return;
  if (how != "sparse-24-bitmask") refuse_scheme(sparse, fmt::format("the sparse format {}", in_quotes(how)));
  const Modules dense = modules(sparse, {"ignore"}, false);
  if (s.groups.empty()) s.groups = every_matrix(packing(base_row(context)));
  std::vector<Scheme::Group> groups;
  for (const Scheme::Group& g : s.groups) {
    if (g.targets.empty() && !dense.empty()) groups.push_back({g.packing, dense, g.products, ""});
    groups.push_back(g);
    Format& f = groups.back().packing->bytes;
    f.element_bits = f.element_bits / 2 + 1;
    f.tensor_bytes += 16;
  }
  s.groups = std::move(groups);
}

Count cache_scheme_bits(const Object& q) {
  return q.has("kv_cache_scheme") ? q.object("kv_cache_scheme").count_or("num_bits", 8) : 0;
}

}  // namespace

/// A name in "ignore" matches only that module (compressed_tensors/utils/match.py, match_name), not the modules below
/// it.
Scheme compressed_tensors(const Object& q, const SchemeContext& context) {
  Scheme s{.kept = modules(q, {"ignore"}, false), .head_as_other = true, .cache_bits = cache_scheme_bits(q)};
  if (q.has("config_groups")) {
    const Object groups = q.object("config_groups");
    for (const std::string& key : groups.keys())
      if (groups.object(key).has("weights")) s.groups.push_back(read_group(s, q, key));
  }
  q.find("format");  // default for any groups
  if (s.groups.empty() && !q.has("sparsity_config")) refuse_scheme(q, "\"config_groups\" without weights");
  std::stable_partition(s.groups.begin(), s.groups.end(), [](const auto& g) { return !g.targets.empty(); });
  make_sparse(s, q, context);
  return s;
}

}  // namespace llmcalc::import
