#pragma once
/// Inputs of a mix of residual streams (calc/block/mixed_residual.hpp). From the streams v_j of a token it computes
///   sum_j a_j v_j, a = softmax(s), s_j = q' (w v_j) / sqrt(mean of v_j^2 + epsilon)
/// with learned q and w of `hidden` elements each.

#include <span>

#include "calc/units.hpp"
#include "model/pass/gradient_place.hpp"

namespace llmcalc::model {

struct MixView {
  std::span<const void* const> streams;  ///< first row of each stream
  Count stride = 0;                      ///< row stride of a stream, in elements
  const void *query = nullptr, *norm = nullptr;
  double epsilon = 1e-5;
};

/// Destinations of the gradients. Gradients of query and norm are wide and accumulated.
struct MixGradients {
  std::span<const GradientPlace> streams;
  void *query = nullptr, *norm = nullptr;
};

}  // namespace llmcalc::model
