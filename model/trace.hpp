#pragma once
/// Trace of a run: names, shapes, executed FLOPs, seconds.

#include <functional>
#include <string_view>
#include <vector>

#include "calc/operator/op.hpp"
#include "calc/units.hpp"

namespace llmcalc::model {

enum class Direction : std::uint8_t { forward, backward, recompute };

struct Ran {
  std::string_view name;
  Shape shape;
  Direction direction;
  Count layer;  ///< layer index; -1: embedding or head
  Flops flops;
  Seconds time;
  Count beside = 0;  ///< number of operations outside matmuls and attention, if counted
};
struct Trace : std::vector<Ran> {
  /// Called immediately before and after an operator, when all earlier calls have completed.
  std::function<void(std::string_view op, const Shape& shape, Direction direction)> before = {};
  std::function<void()> after = {};
};

}  // namespace llmcalc::model
