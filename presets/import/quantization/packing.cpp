#include "presets/import/quantization/packing.hpp"

#include <fmt/format.h>

namespace llmcalc::import {

namespace {

/// Size of the state's text in bytes, including the shape as "[out, in]".
Bytes state_bytes(const Packing& p, const Matrix& m) {
  if (p.state.empty()) return {};
  const std::string shape = fmt::format("[{}, {}]", m.rows, m.columns);
  return Bytes(static_cast<Count>(p.state.size() - Packing::shape_mark.size() + shape.size()));
}

/// Bytes of the padding in the last tiles of scales.
Bytes filled_bytes(const Packing& p, const Matrix& m) {
  if (!p.tiled_scales) return {};
  const auto whole = [](Count n, Count tile) { return mul(ceil_div(n, tile), tile); };
  const Count groups = ceil_div(m.columns, p.bytes.group);
  return Bytes(mul(whole(m.rows, 128), whole(groups, 4)) - mul(m.rows, groups));
}

}  // namespace

Packing packing(DType format) { return {.format = format, .bytes = format.format()}; }

Bytes packed_bytes(const Packing& p, const Matrix& m) {
  const Bytes bias(p.own_bias && !m.biased ? mul(2, m.rows) : 0);
  const Bytes numbers =
      p.flat ? grouped_bytes(p.bytes, 1, mul(m.rows, m.columns)) : grouped_bytes(p.bytes, m.rows, m.columns);
  return m.groups * (numbers + state_bytes(p, m) + filled_bytes(p, m) + bias);
}

}  // namespace llmcalc::import
