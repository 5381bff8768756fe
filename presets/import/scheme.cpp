#include "presets/import/scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

[[noreturn]] void refuse(const Object& q, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} is not known; write the formats of the model's weights into an llmcalc model file "
                  "('llmcalc import' of the config without this block makes one)",
                  q.where(), what));
}

/// The format of that name, which is a row of calc/dtype.hpp; `what` says for the user what it stands for.
DType format(const Object& q, const std::string& name, const std::string& what) {
  if (const auto t = dtype(name)) return *t;
  refuse(q, what);
}

/// "gptq" for groups of 128, "gptq-g64" for others.
std::string grouped_name(std::string_view stem, Count group) {
  return group == 128 ? std::string(stem) : fmt::format("{}-g{}", stem, group);
}

Modules modules(const Object& q, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!q.has(key)) continue;
    try {
      return Modules(q.texts(key));
    } catch (const ExpressionError&) {
      refuse(q, fmt::format("a regular expression in \"{}\"", key));
    }
  }
  return {};
}

Count group_size(const Object& q) {
  for (const char* key : {"group_size", "q_group_size"})
    if (const json::Value* v = q.find(key)) return v->is_number_integer() && *v < 0 ? -1 : q.count(key);
  return 128;
}

/// Numbers of `bits` with `group_bits` for each group, on whole bytes per matrix.
Format groups_of(std::string_view name, Count bits, Count group, Count group_bits) {
  Format f{};
  f.name = name;
  f.element_bits = bits;
  f.group = group;
  f.group_bits = group_bits;
  return f;
}

/// Groups of all matrices in one packing.
std::vector<Scheme::Group> every_matrix(Packing p) { return {{std::move(p), {}}}; }

/// hf quantizers/quantizer_gptq.py; AutoGPTQ stores an index per input column and a bias with desc_act. AutoRound's
/// packing is the same.
Scheme gptq(const Object& q, const SchemeContext&) {
  const Count bits = q.count_or("bits", 4), group = group_size(q);
  const std::string what = fmt::format("GPTQ with {} bits in groups of {}", bits, group);
  std::string name = grouped_name("gptq", group);
  if (q.flag_or("desc_act", false) && group == 128) name = "gptq-act";
  if (bits == 8 && group == 128) name = "gptq-8bit";
  if (bits != 4 && bits != 8) refuse(q, what);
  return {.groups = every_matrix(packing(format(q, name, what))),
          .kept = modules(q, {"modules_to_not_convert"}),
          .head_as_other = q.flag_or("lm_head", false)};
}

/// hf quantizers/quantizer_awq.py: 4 bits; with a zero point unless zero_point is false.
Scheme awq(const Object& q, const SchemeContext&) {
  const Count bits = q.has("w_bit") ? q.count("w_bit") : q.count_or("bits", 4), group = group_size(q);
  const std::string what = fmt::format("AWQ with {} bits in groups of {}", bits, group);
  if (bits != 4) refuse(q, what);
  const std::string name = q.flag_or("zero_point", true) ? grouped_name("awq", group) : fmt::format("int4-g{}", group);
  return {.groups = every_matrix(packing(format(q, name, what))), .kept = modules(q, {"modules_to_not_convert"})};
}

/// The format that a device multiplies in where both operands are as the weights; scales of a tensor or a row do not
/// change it.
std::optional<DType> products_in(DType weights) {
  switch (weights.format().peak) {
    case Peak::fp8:
      return weights.format().group_rows > 1 || weights.name() == "mxfp8" ? weights : dtypes::fp8;
    case Peak::int8:
      return dtype("int8");
    case Peak::fp4:
      return dtype(weights.name() == "mxfp4" ? "mxfp4" : "nvfp4");
    default:
      return std::nullopt;
  }
}

/// Bits of the scale of a block of 128 x 128 (checkpoints' headers): a byte of exponent, bf16, or float32.
Count block_scale_bits(const SchemeContext& context) {
  if (context.model_type.starts_with("deepseek_v4")) return 8;
  return context.model_type.starts_with("qwen3_5") ? 16 : 32;
}

/// hf quantizers/quantizer_finegrained_fp8.py; without a block size one scale per tensor.
Scheme fp8(const Object& q, const SchemeContext& context) {
  if (q.has("quantized_layers") || q.has("config_groups")) refuse(q, "a mixture of formats under \"fp8\"");
  std::string name = "fp8-tensor";
  if (q.has("weight_block_size")) {
    const std::vector<Count> block = q.counts("weight_block_size");
    name = block == std::vector<Count>{1, 32} ? "mxfp8" : "fp8-block";
    if (name == "fp8-block" && block != std::vector<Count>{128, 128}) refuse(q, "fp8 in blocks other than 128 x 128");
  }
  Packing p = packing(*dtype(name));
  if (name == "fp8-block") p.bytes.group_bits = block_scale_bits(context);
  Scheme s{.groups = every_matrix(p), .kept = modules(q, {"modules_to_not_convert", "ignored_layers"})};
  s.products = products_in(*dtype(name));
  if (context.fp4_experts) s.groups.insert(s.groups.begin(), {packing(*dtype("mxfp4")), Modules({"experts"})});
  return s;
}

Scheme fbgemm(const Object& q, const SchemeContext&) {
  return {.groups = every_matrix(packing(*dtype("fp8-row32"))),
          .kept = modules(q, {"modules_to_not_convert"}),
          .products = dtypes::fp8};
}

/// hf integrations/mxfp4.py replaces the experts of gpt-oss, and nothing else.
Scheme mxfp4(const Object& q, const SchemeContext&) {
  return {.groups = {{packing(*dtype("mxfp4")), Modules({"experts"})}}, .kept = modules(q, {"modules_to_not_convert"})};
}

/// github.com/bitsandbytes-foundation/bitsandbytes, functional.py, QuantState.as_dict: beside numbers and scales a map
/// of 16 float32 and a text of the state. Double quantisation adds a map of 256 float32 and a longer text, in which
/// the offset is taken to have 20 characters.
Packing nf4(bool twice, const std::string& base) {
  Packing p = packing(*dtype(twice ? "nf4-dq" : "nf4"));
  p.bytes.tensor_bytes = twice ? 64 + 1024 : 64;
  p.state =
      fmt::format(R"({{"quant_type": "nf4", "blocksize": 64, "dtype": "{}", "shape": {})", base, Packing::shape_mark);
  if (twice)
    p.state += fmt::format(R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": {:020})", 0);
  p.state += "}";
  return p;
}

/// hf quantizers/quantizer_bnb_4bit.py, quantizer_bnb_8bit.py: the head is kept unless the list says otherwise. Int8
/// stores a byte per matrix that names the order of its numbers.
Scheme bitsandbytes(const Object& q, const SchemeContext& context) {
  const auto on = [&](const std::string& key) { return q.flag_or(key, false) || q.flag_or("_" + key, false); };
  if (!on("load_in_4bit") && !on("load_in_8bit")) refuse(q, "bitsandbytes with neither load_in_4bit nor load_in_8bit");
  Packing p = packing(*dtype("int8"));
  p.bytes.tensor_bytes = 1;
  if (!on("load_in_8bit")) p = nf4(q.flag_or("bnb_4bit_use_double_quant", false), context.dtype);
  return {.groups = every_matrix(p), .kept = modules(q, {"llm_int8_skip_modules"})};
}

/// One group's weights of compressed-tensors (github.com/neuralmagic/compressed-tensors, quant_args.py).
DType compressed(const Object& w) {
  const std::string type = w.text_or("type", "int"), strategy = w.text_or("strategy", "tensor");
  const Count bits = w.count("num_bits"), group = w.count_or("group_size", 0);
  const bool symmetric = w.flag_or("symmetric", true), channel = strategy == "channel";
  const std::string what = fmt::format("{} bits of type \"{}\" by {} of {}", bits, type, strategy, group);
  if (type == "float" && bits == 8) {
    if (strategy == "block") return *dtype("fp8-block");
    if (channel) return *dtype("fp8-row");
    if (strategy == "tensor") return *dtype("fp8-tensor");
  }
  if (type == "float" && bits == 4 && group == 16) return *dtype("nvfp4-input");
  if (type == "float" && bits == 4 && group == 32) return *dtype("mxfp4");
  if (type == "int" && bits == 8 && channel) return *dtype("int8-row");
  if (type == "int" && symmetric && group > 0) return format(w, fmt::format("int{}-g{}", bits, group), what);
  if (type == "int" && bits == 4 && group > 0) return format(w, grouped_name("awq", group), what);
  refuse(w, what);
}

/// compressed-tensors, compressors/: packed integers keep their shape as two int64, and with act-order an index of
/// int32 per column.
Packing pressed(DType format, const Object& weights, const std::string& how) {
  Packing p = packing(format);
  if (how != "pack-quantized") return p;
  p.bytes.tensor_bytes = 16;
  const json::Value* order = weights.find("actorder");
  if (order != nullptr && (*order == "group" || *order == true)) p.bytes.column_bits = 32;
  return p;
}

/// 2:4 sparsity (compressors/sparse_24_bitmask.py): every second number, a bit for each, and the shape.
void make_sparse(Scheme& s, const Object& q) {
  if (!q.has("sparsity_config")) return;
  const Object sparse = q.object("sparsity_config");
  const std::string how = sparse.text_or("format", "dense");
  if (how == "dense") return;
  if (how != "sparse-24-bitmask") refuse(sparse, fmt::format("the sparse format {}", in_quotes(how)));
  for (Scheme::Group& g : s.groups) {
    g.packing.bytes.element_bits = g.packing.bytes.element_bits / 2 + 1;
    g.packing.bytes.tensor_bytes += 16;
  }
}

Scheme compressed_tensors(const Object& q, const SchemeContext&) {
  Scheme s{.groups = {}, .kept = modules(q, {"ignore"}), .head_as_other = true};
  const Object groups = q.object("config_groups");
  for (const std::string& key : groups.keys()) {
    const Object group = groups.object(key);
    if (!group.has("weights")) continue;
    std::vector<std::string> targets = group.texts("targets");
    const bool all = std::find(targets.begin(), targets.end(), "Linear") != targets.end();
    const Object weights = group.object("weights");
    if (group.has("input_activations")) s.products = products_in(compressed(weights));
    const std::string how = group.text_or("format", q.text_or("format", ""));
    s.groups.push_back({pressed(compressed(weights), weights, how), all ? Modules() : modules(group, {"targets"})});
  }
  if (s.groups.empty()) refuse(q, "\"config_groups\" without weights");
  s.scaled_cache = q.has("kv_cache_scheme");
  make_sparse(s, q);
  return s;
}

/// github.com/NVIDIA/TensorRT-Model-Optimizer, export/: quant_algo names the format of all that is not excluded.
DType modelopt_format(const Object& q, const std::string& algorithm) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known = {
      {{"FP8", "fp8-tensor"},
       {"NVFP4", "nvfp4-input"},
       {"MXFP8", "mxfp8"},
       {"FP8_PB_WO", "fp8-block"},
       {"FP8_PER_CHANNEL_PER_TOKEN", "fp8-row32"}}};
  for (const auto& [name, row] : known)
    if (name == algorithm) return *dtype(row);
  refuse(q, fmt::format("ModelOpt's quant_algo {}", in_quotes(algorithm)));
}

/// MIXED_PRECISION names an algorithm for each module.
std::vector<Scheme::Group> modelopt_layers(const Object& layers) {
  std::map<std::string, std::vector<std::string>> by_algorithm;
  for (const std::string& name : layers.keys()) by_algorithm[layers.object(name).text("quant_algo")].push_back(name);
  std::vector<Scheme::Group> groups;
  for (const auto& [algorithm, names] : by_algorithm)
    groups.push_back({packing(modelopt_format(layers, algorithm)), Modules(names)});
  return groups;
}

Scheme modelopt(const Object& q, const SchemeContext&) {
  const std::string algorithm = q.text_or("quant_algo", "");
  const bool mixed = algorithm == "MIXED_PRECISION" && q.has("quantized_layers");
  Scheme s{.groups = mixed ? modelopt_layers(q.object("quantized_layers"))
                           : every_matrix(packing(modelopt_format(q, algorithm))),
           .kept = modules(q, {"exclude_modules", "ignore"}),
           .head_as_other = true,
           .scaled_cache = q.has("kv_cache_quant_algo")};
  if (!mixed) s.products = products_in(s.groups.front().packing.format);
  return s;
}

/// github.com/mobiusml/hqq, core/quantize.py, of the settings that transformers writes: numbers packed into bytes, a
/// 16-bit scale and a 16-bit zero per group.
Scheme hqq(const Object& q, const SchemeContext&) {
  const Object all = q.has("quant_config") ? q.object("quant_config") : q;
  const Object w = all.has("weight_quant_params") ? all.object("weight_quant_params") : all;
  const Count bits = w.count_or("nbits", 4), group = w.count_or("group_size", 64);
  if ((bits != 8 && bits != 4 && bits != 2 && bits != 1) || group == 0)
    refuse(q, fmt::format("HQQ with {} bits in groups of {}", bits, group));
  Packing p = packing(*dtype(bits == 8 ? "int8-g128" : "int4-g64"));
  p.bytes = groups_of("hqq", bits, group, 32);
  return {.groups = every_matrix(p), .kept = modules(q, {"skip_modules"})};
}

/// github.com/turboderp-org/exllamav3, doc/exl3.md: whole numbers of bits per weight, and a 16-bit sign and scale per
/// row and per column. A mean that is no whole number, as ExLlamaV2 states it too, says no more than itself.
Scheme exl(const Object& q, const SchemeContext&) {
  const double bits = q.number_or("bits", 0);
  if (!(bits >= 1 && bits <= 8)) refuse(q, fmt::format("EXL with {} bits", bits));
  Packing p = packing(*dtype(bits > 4 ? "int8-g128" : "int4"));
  const bool whole = bits == std::floor(bits) && lower(q.text_or("quant_method", "")) == "exl3";
  p.bytes = groups_of("exl", 0, 256, static_cast<Count>(std::llround(bits * 256)));
  if (whole) {
    p.bytes = groups_of("exl3", static_cast<Count>(bits), 0, 0);
    p.bytes.row_bits = p.bytes.column_bits = 16;
  }
  Scheme s{.groups = every_matrix(p), .kept = modules(q, {"modules_to_not_convert"}), .head_as_other = true};
  if (!whole)
    s.caveat = fmt::format(
        "the config states {} bits per weight in the mean; the bytes of the checkpoint's header are exact", bits);
  return s;
}

/// github.com/pytorch/ao, quantization/: the names of transformers' older and newer settings.
Scheme torchao(const Object& q, const SchemeContext&) {
  const json::Value* type = q.find("quant_type");
  const bool is_text = type != nullptr && type->is_string();
  const json::Value none = json::Value::object();
  const Object entry =
      !is_text && q.has("quant_type") ? q.object("quant_type").object("default") : Object(none, q.where());
  const std::string name = is_text ? type->get<std::string>() : entry.text_or("_type", "");
  const Object data = entry.has("_data")           ? entry.object("_data")
                      : q.has("quant_type_kwargs") ? q.object("quant_type_kwargs")
                                                   : Object(none, q.where());
  const auto is = [&](std::string_view a, std::string_view b) { return name == a || name == b; };
  Packing p = packing(*dtype("int8-row"));
  if (is("int4_weight_only", "Int4WeightOnlyConfig"))
    p = {*dtype("int4-g128"), groups_of("int4", 4, data.count_or("group_size", 128), 32), ""};
  else if (is("float8_weight_only", "Float8WeightOnlyConfig") ||
           is("float8_dynamic_activation_float8_weight", "Float8DynamicActivationFloat8WeightConfig"))
    p = packing(*dtype("fp8-row32"));
  else if (!is("int8_weight_only", "Int8WeightOnlyConfig") &&
           !is("int8_dynamic_activation_int8_weight", "Int8DynamicActivationInt8WeightConfig"))
    refuse(q, fmt::format("torchao's quant_type {}", in_quotes(name)));
  return {.groups = every_matrix(p), .kept = modules(q, {"modules_to_not_convert"})};
}

/// AMD Quark, export of transformers (hf quantizers/quantizer_quark.py): one setting for all that is not excluded.
Scheme quark(const Object& q, const SchemeContext&) {
  const Object w = q.object("global_quant_config").object("weight");
  const std::string type = w.text_or("dtype", ""), by = w.text_or("qscheme", "");
  const Count group = w.count_or("group_size", 0);
  std::string_view row;
  if (type == "fp8_e4m3") row = by == "per_tensor" ? "fp8-tensor" : by == "per_channel" ? "fp8-row32" : "";
  if (type == "fp4" && by == "per_group" && group == 32) row = "mxfp4";
  if (type == "int8" && by == "per_channel") row = "int8";
  if ((type == "int4" || type == "uint4") && by == "per_group" && group == 128)
    row = type == "int4" ? "int4-g128" : "awq";
  if (row.empty()) refuse(q, fmt::format("Quark's weights of {} {} by {}", type, by, group));
  return {.groups = every_matrix(packing(*dtype(row))), .kept = modules(q, {"exclude"}), .head_as_other = true};
}

/// The method where the block names it, else what its keys give away.
std::string method_of(const Object& q) {
  if (q.has("quant_method")) return lower(q.text("quant_method"));
  if (q.has("quant_algo")) return "modelopt";
  return q.has("load_in_4bit") || q.has("load_in_8bit") ? "bitsandbytes" : "";
}

using Reader = Scheme (*)(const Object&, const SchemeContext&);
constexpr std::array<std::pair<std::string_view, Reader>, 17> methods = {{{"gptq", gptq},
                                                                          {"auto-round", gptq},
                                                                          {"intel/auto-round", gptq},
                                                                          {"awq", awq},
                                                                          {"fp8", fp8},
                                                                          {"mxfp8", fp8},
                                                                          {"fbgemm_fp8", fbgemm},
                                                                          {"mxfp4", mxfp4},
                                                                          {"bitsandbytes", bitsandbytes},
                                                                          {"compressed-tensors", compressed_tensors},
                                                                          {"modelopt", modelopt},
                                                                          {"modelopt_fp4", modelopt},
                                                                          {"hqq", hqq},
                                                                          {"exl2", exl},
                                                                          {"exl3", exl},
                                                                          {"torchao", torchao},
                                                                          {"quark", quark}}};

}  // namespace

Scheme scheme(const Object& q, const SchemeContext& context) {
  const std::string method = method_of(q);
  for (const auto& [name, read] : methods)
    if (name == method) return read(q, context);
  refuse(q, fmt::format("quant_method {}", in_quotes(method)));
}

std::optional<Packing> packing_of(const Scheme& s, const Matrix& m) {
  const auto in = [&](const Modules& set) {
    return std::any_of(m.paths.begin(), m.paths.end(), [&](const std::string& p) { return set.contain(p); });
  };
  if ((m.component == Component::lm_head && !s.head_as_other) || in(s.kept)) return std::nullopt;
  for (const Scheme::Group& g : s.groups)
    if (g.targets.empty() || in(g.targets)) return g.packing;
  return std::nullopt;
}

}  // namespace llmcalc::import
