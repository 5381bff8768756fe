// github.com/mobiusml/hqq, core/quantize.py and core/bitpack.py, for the settings that transformers writes.

#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Format of 3-bit values: ten values per int32, taken from ten groups along axis 1 or from one group along axis 0.
Format three_bits(Count group, bool along_rows) {
  Format f = groups_of("hqq", 0, group, 32 + (along_rows ? 0 : 32 * ceil_div(group, 10)));
  if (along_rows) {
    f.outer = 10;
    f.outer_bits = 32 * group;
  }
  return f;
}

/// Values packed into bytes, with a 16-bit scale and a 16-bit zero point for each group. A null group size means a
/// whole row.
Packing hqq_packing(Scheme& s, const Object& o) {
  const Object w = o.has("weight_quant_params") ? o.object("weight_quant_params") : o;
  for (const char* key : {"scale_quant_params", "zero_quant_params"})
    if (o.has(key)) refuse_scheme(o, fmt::format("HQQ's \"{}\"", key));
  const Count bits = w.count_or("nbits", 4), axis = w.count_or("axis", 1);
  const bool none = w.value().contains("group_size") && !w.has("group_size");
  const Count group = none ? -1 : w.count_or("group_size", 64);
  const bool known = bits == 8 || bits == 4 || bits == 2 || bits == 1 || (bits == 3 && group > 0);
  if (!known || group == 0) refuse_scheme(o, fmt::format("HQQ with {} bits in groups of {}", bits, group));
  remember_unread(s, w, "quant_config");
  if (bits < 4)
    s.caveats.push_back(
        fmt::format("HQQ weights of {} bits are counted with their actual bytes but labeled int4-g64", bits));
  const DType named = bits == 8 ? row("int8-g128") : row("int4-g64");
  return packing(named, bits == 3 ? three_bits(group, axis == 1) : groups_of("hqq", bits, group, 32));
}

/// Whether settings are per module ("self_attn.q_proj"). Modules without settings are not quantized.
bool is_by_module(const Object& all) {
  if (all.has("weight_quant_params") || all.has("nbits") || all.value().empty()) return false;
  for (const std::string& key : all.keys())
    if (!all.value()[key].is_object()) return false;
  return true;
}

}  // namespace

Scheme hqq(const Object& q, const SchemeContext&) {
  const Object all = q.has("quant_config") ? q.object("quant_config") : q;
  Scheme s{.kept = modules(q, {"skip_modules"})};
  if (!is_by_module(all)) {
    s.groups = every_matrix(hqq_packing(s, all));
    return s;
  }
  for (const std::string& key : all.keys())
    s.groups.push_back({.packing = hqq_packing(s, all.object(key)), .targets = picked(all, key, {key}), .said = key});
  return s;
}

}  // namespace llmcalc::import
