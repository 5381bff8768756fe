// GPTQ, AWQ, and AutoRound, which packs values like GPTQ, AWQ or another method.

#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Settings of GPTQ's packing for one group of matrices.
struct GptqSetting {
  Count bits = 4, group = 128;
  bool act = false;  ///< whether "desc_act" is set
};

GptqSetting gptq_setting(const Object& q, const GptqSetting& otherwise) {
  GptqSetting s = otherwise;
  s.bits = q.count_or("bits", s.bits);
  const std::string what = fmt::format("GPTQ with {} bits", s.bits);
  if (s.bits != 2 && s.bits != 3 && s.bits != 4 && s.bits != 8) refuse_scheme(q, what);
  if (q.has("group_size")) s.group = group_size(q, what);
  s.act = q.flag_or("desc_act", s.act);
  return s;
}

DType gptq_row(const GptqSetting& s) {
  if (s.bits != 4) return row(fmt::format("gptq-{}bit", s.bits));
  return s.act && s.group == 128 ? row("gptq-act") : grouped_row("gptq", s.group);
}

/// Values of `bits` bits packed into int32, with a 16-bit scale and a zero point of `bits` bits for each group. A
/// group size of -1 means a whole row.
Packing gptq_packing(const GptqSetting& s) {
  return packing(gptq_row(s), groups_of("gptq", s.bits, s.group, 16 + s.bits));
}

/// Whether GPTQModel wrote the block, rather than AutoGPTQ.
bool is_of_gptqmodel(const Object& q) {
  const json::Value* meta = q.find("meta");
  return meta != nullptr && lower(meta->dump()).find("gptqmodel") != std::string::npos;
}

/// Packing of a layer, including the other data that AutoGPTQ and GPTQModel store (nn_modules/qlinear): the group of
/// each column as int32, with or without desc_act and, in AutoGPTQ up to 0.7, a 16-bit bias for every layer.
Packing gptq_layer(const Object& q, const GptqSetting& s) {
  Packing p = gptq_packing(s);
  p.bytes.column_bits = 32;
  p.own_bias = !is_of_gptqmodel(q);
  return p;
}

/// Adds the patterns in "dynamic", whose expressions match the start of a module's name. A pattern with the prefix "-:"
/// excludes the module; a pattern with "+:" or no prefix assigns separate settings to it. The first match applies
/// (GPTQModel, quantization/config.py).
void add_dynamic(Scheme& s, const Object& q, const GptqSetting& usual) {
  if (!q.has("dynamic")) return;
  const Object dynamic = q.object("dynamic");
  for (const std::string& key : dynamic.keys()) {
    const bool kept = key.starts_with("-:"), marked = kept || key.starts_with("+:");
    Scheme::Group g{.targets = picked(q, "dynamic", {"re:" + key.substr(marked ? 2 : 0)}), .said = key};
    if (!kept) {
      const Object o = dynamic.object(key);
      g.packing = gptq_layer(q, gptq_setting(o, usual));
      remember_unread(s, o, "dynamic." + key);
    }
    s.groups.push_back(std::move(g));
  }
}

/// Names in nested lists, as in "modules_in_block_to_quantize".
std::vector<std::string> names_in_blocks(const Object& q, std::string_view key) {
  std::vector<std::string> out;
  for (const json::Value& block : *q.find(key))
    for (const json::Value& name : block.is_array() ? block : json::Value::array({block})) {
      if (!name.is_string()) refuse_scheme(q, fmt::format("a non-string entry in \"{}\"", key));
      out.push_back(name.get<std::string>());
    }
  return out;
}

/// The quantized modules; empty: all modules of the model's blocks.
Modules blocks_modules(const Object& q, bool head) {
  constexpr std::string_view key = "modules_in_block_to_quantize";
  if (!q.has(key)) return {};
  std::vector<std::string> names = names_in_blocks(q, key);
  if (head && !names.empty()) names.emplace_back("lm_head");
  return picked(q, key, names);
}

void check_layout(const Object& q) {
  const std::string layout = q.text_or("checkpoint_format", q.text_or("format", "gptq"));
  if (q.flag_or("is_marlin_format", false) || (layout != "gptq" && layout != "gptq_v2"))
    refuse_scheme(q, fmt::format("GPTQ's checkpoint_format {}", in_quotes(layout == "gptq" ? "marlin" : layout)));
}

}  // namespace

/// hf quantizers/quantizer_gptq.py; settings of GPTQModel and AutoGPTQ.
Scheme gptq(const Object& q, const SchemeContext&) {
  check_layout(q);
  const GptqSetting usual = gptq_setting(q, {});
  Scheme s{.kept = modules(q, {"modules_to_not_convert"}), .head_as_other = q.flag_or("lm_head", false)};
  add_dynamic(s, q, usual);
  s.groups.push_back({.packing = gptq_layer(q, usual), .targets = blocks_modules(q, s.head_as_other)});
  return s;
}

/// hf quantizers/quantizer_awq.py: 4 bits, with a zero point unless zero_point is false.
Scheme awq(const Object& q, const SchemeContext&) {
  const Count bits = q.has("w_bit") ? q.count("w_bit") : q.count_or("bits", 4);
  const std::string what = fmt::format("AWQ with {} bits", bits);
  if (bits != 4) refuse_scheme(q, what);
  const Count group = group_size(q, what);
  const bool zero = q.flag_or("zero_point", true);
  const DType named = zero ? grouped_row("awq", group) : group < 0 ? row("int4-row") : grouped_row("int4", group);
  return {.groups = every_matrix(packing(named, groups_of("awq", 4, group, zero ? 20 : 16))),
          .kept = modules(q, {"modules_to_not_convert"})};
}

namespace {

/// AutoRound's settings for all layers, or for one layer in "extra_config".
struct RoundSetting {
  GptqSetting gptq{};
  std::string type = "int";
  bool inputs = false;  ///< whether inputs are also quantized
};

RoundSetting round_setting(const Object& q, const RoundSetting& otherwise) {
  RoundSetting s = otherwise;
  s.type = q.text_or("data_type", s.type);
  s.gptq.bits = q.count_or("bits", s.gptq.bits);
  if (q.has("group_size")) s.gptq.group = group_size(q, "AutoRound");
  if (q.has("act_bits")) s.inputs = q.count("act_bits") < 16;
  return s;
}

/// AutoRound's 4-bit and 8-bit formats with float elements (export/export_to_autoround/qlinear_fp.py).
DType float_row(const Object& q, const RoundSetting& s) {
  if (s.type.starts_with("mx_fp") && s.gptq.bits == 4) return row("mxfp4");
  if (s.type.starts_with("mx_fp") && s.gptq.bits == 8) return row("mxfp8");
  if (s.type.starts_with("nv_fp") && s.gptq.bits == 4) return row(s.inputs ? "nvfp4-input" : "nvfp4");
  refuse_scheme(q, fmt::format("AutoRound's data_type {} with {} bits", in_quotes(s.type), s.gptq.bits));
}

/// Group for a setting. Values are packed like AWQ's or like GPTQ's, but without the groups of columns and without a
/// separate bias.
Scheme::Group round_group(const Object& q, const RoundSetting& s, bool as_awq) {
  Scheme::Group g;
  if (s.gptq.bits >= 16) return g;
  if (s.type != "int") {
    const DType t = float_row(q, s);
    g.packing = packing(t);
    if (s.inputs) g.products = products_in(t);
    return g;
  }
  const Count bits = s.gptq.bits, group = s.gptq.group;
  if ((bits != 2 && bits != 3 && bits != 4 && bits != 8) || (as_awq && bits != 4))
    refuse_scheme(q, fmt::format("AutoRound with {} bits", bits));
  g.packing = as_awq ? packing(grouped_row("awq", group), groups_of("awq", 4, group, 20)) : gptq_packing(s.gptq);
  if (s.inputs) refuse_scheme(q, "AutoRound with quantized inputs and integer weights");
  return g;
}

/// Pattern for a key, which is a layer's name or an expression that matches anywhere in a name (inference/utils.py).
std::string round_pattern(const std::string& key) {
  const bool name = key.find_first_of("*?[](){}|^$+\\") == std::string::npos;
  return name ? key : key.starts_with("^") ? "re:" + key : "re:.*(?:" + key + ")";
}

/// Adds layers with separate settings: first those that are named, then those matched by an expression.
void add_extra(Scheme& s, const Object& q, const RoundSetting& usual, bool as_awq) {
  if (!q.has("extra_config")) return;
  const Object extra = q.object("extra_config");
  for (const bool expressions : {false, true})
    for (const std::string& key : extra.keys()) {
      const std::string pattern = round_pattern(key);
      if (pattern.starts_with("re:") != expressions) continue;
      const Object o = extra.object(key);
      if (o.value().empty()) continue;
      Scheme::Group g = round_group(o, round_setting(o, usual), as_awq);
      g.targets = picked(q, "extra_config", {pattern});
      g.said = key;
      if (key == "lm_head" && g.packing) s.head_as_other = true;
      remember_unread(s, o, "extra_config." + key);
      s.groups.push_back(std::move(g));
    }
}

}  // namespace

/// github.com/intel/auto-round, inference/convert_model.py.
Scheme auto_round(const Object& q, const SchemeContext&) {
  const RoundSetting usual = round_setting(q, {});
  const bool as_awq = q.text_or("packing_format", "").find("awq") != std::string::npos;
  Scheme s{.kept = modules(q, {"modules_to_not_convert"}), .head_as_other = q.flag_or("lm_head", false)};
  add_extra(s, q, usual, as_awq);
  s.groups.push_back(round_group(q, usual, as_awq));
  return s;
}

}  // namespace llmcalc::import
