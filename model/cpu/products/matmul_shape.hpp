#pragma once

#include "calc/units.hpp"

namespace llmcalc::model {

/// C (m, n) = op(A) (m, k) op(B) (k, n), added to C if `add`. Matrices are row-major; lda, ldb and ldc are the row
/// strides of A, B and C in elements, as stored, before op transposes them.
struct MatmulShape {
  Count m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;
  Count lda = 0, ldb = 0, ldc = 0;
  /// Total number of rows of all experts, if m is the data-dependent number of rows of one expert; a row of C is then
  /// bitwise independent of m. 0: m is fixed.
  Count routed_rows = 0;
  /// Number of rows of A and C after the first m that may also be multiplied; their results in C are overwritten later.
  Count following = 0;
  auto operator<=>(const MatmulShape&) const = default;
};

}  // namespace llmcalc::model
