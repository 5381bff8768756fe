#pragma once

#include "calc/units.hpp"

namespace llmcalc::model {

/// C (m, n) = op(A) (m, k) op(B) (k, n), added to C if `add`. Row-major; lda, ldb, ldc are numbers from row to row of
/// A, B, C as they are stored, before op transposes them.
struct MatmulShape {
  Count m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;
  Count lda = 0, ldb = 0, ldc = 0;
  /// Rows that routers send to all experts, where these are one expert's: as many as it happens to get. A row of C has
  /// the same bits however many there are. 0: the shape is the same every time.
  Count routed_rows = 0;
  /// Rows of A and C that follow, which may be multiplied too: what they hold in C is written afterwards.
  Count following = 0;
  auto operator<=>(const MatmulShape&) const = default;
};

}  // namespace llmcalc::model
