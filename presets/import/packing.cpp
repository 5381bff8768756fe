#include "presets/import/packing.hpp"

#include <fmt/format.h>

namespace llmcalc::import {

namespace {

/// Bytes of the state's text, which names the shape as "[out, in]".
Bytes state_bytes(const Packing& p, const Matrix& m) {
  if (p.state.empty()) return {};
  const std::string shape = fmt::format("[{}, {}]", m.rows, m.columns);
  return Bytes(static_cast<Count>(p.state.size() - Packing::shape_mark.size() + shape.size()));
}

}  // namespace

Packing packing(DType format) { return {.format = format, .bytes = format.format()}; }

Bytes packed_bytes(const Packing& p, const Matrix& m) {
  const Bytes bias(p.own_bias && !m.biased ? mul(2, m.rows) : 0);
  return m.groups * (grouped_bytes(p.bytes, m.rows, m.columns) + state_bytes(p, m) + bias);
}

}  // namespace llmcalc::import
