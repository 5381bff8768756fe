// github.com/ml-explore/mlx, python/mlx/nn/layers/quantized.py, and mlx-lm's convert: all matrices and tables are
// quantized, including routers.

#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"
#include "text/names.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Quantized values in groups along a row. Each group has a scale and a bias of 16 bits.
Packing affine(const Object& o) {
  const Count bits = o.count_or("bits", 4), group = o.count_or("group_size", 64);
  const bool known = bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8;
  if (!known || (group != 32 && group != 64 && group != 128))
    refuse_scheme(o, fmt::format("MLX with {} bits in groups of {}", bits, group));
  const DType named = row(fmt::format("mlx-{}bit", bits));
  return packing(named, groups_of("mlx", bits, group, 32));
}

Packing mlx_packing(const Object& o) {
  const std::string mode = o.text_or("mode", "affine");
  if (mode == "affine") return affine(o);
  if (mode == "mxfp4" || mode == "mxfp8") return packing(row(mode));
  if (mode == "nvfp4") return with_tensor_bytes(row(mode), 0);  // no scale for the whole matrix
  refuse_scheme(o, fmt::format("MLX's mode {}", in_quotes(mode)));
}

/// Adds modules with separate settings. The value `false` marks modules that are not quantized.
void add_modules(Scheme& s, const Object& q) {
  std::vector<std::string> kept;
  for (const std::string& key : q.keys()) {
    const json::Value& v = *q.find(key);
    if (v.is_boolean() && !v.get<bool>()) kept.push_back(key);
    if (v.is_object())
      s.groups.push_back({.packing = mlx_packing(q.object(key)), .targets = picked(q, key, {key}), .said = key});
  }
  s.kept = picked(q, "quantization", kept);
}

}  // namespace

Scheme mlx(const Object& q, const SchemeContext&) {
  Scheme s{.head_as_other = true, .table_as_other = true, .routers_as_others = true};
  add_modules(s, q);
  s.groups.push_back({.packing = mlx_packing(q)});
  return s;
}

}  // namespace llmcalc::import
