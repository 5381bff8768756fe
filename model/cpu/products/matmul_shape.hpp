#pragma once

#include "calc/units.hpp"

namespace llmcalc::model {

/// C (m, n) = op(A) (m, k) op(B) (k, n), added to C if `add`. Row-major; lda, ldb, ldc are elements from row to row of
/// A, B, C as stored, before op transposes them.
struct MatmulShape {
  Count m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;
  Count lda = 0, ldb = 0, ldc = 0;
  /// Rows of all experts together, if m is the data-dependent number of rows of one expert; a row of C is then bitwise
  /// independent of m. 0: m is fixed.
  Count routed_rows = 0;
  /// Rows of A and C after the first m that may be multiplied too; their part of C is overwritten later.
  Count following = 0;
  auto operator<=>(const MatmulShape&) const = default;
};

}  // namespace llmcalc::model
