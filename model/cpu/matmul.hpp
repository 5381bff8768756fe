#pragma once
/// Products of matrices.

#include <vector>

#include "model/cpu/product.hpp"

namespace llmcalc::model {

/// C (m, n) = op(A) (m, k) op(B) (k, n), added to C if `add`. Row-major; lda, ldb, ldc are numbers from row to row of
/// A, B, C as they are stored, before op transposes them.
struct MatmulShape {
  Count m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, add = false;
  Count lda = 0, ldb = 0, ldc = 0;
};

namespace LLMCALC_ISA {

/// A row of A after op, wide.
template <typename A>
void row_of(const MatmulShape& s, const A* a, Count i, std::vector<Wide<A>>& to) {
  to.resize(static_cast<std::size_t>(s.k));
  for (Count p = 0; p < s.k; ++p)
    to[static_cast<std::size_t>(p)] = wide(s.transpose_a ? a[p * s.lda + i] : a[i * s.lda + p]);
}

/// C row by row: products with the columns of B one by one, or (B not transposed) with its rows, added up.
template <typename A, typename B, typename C>
void plain_matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  using W = Wide<A>;
  each<A>(s.m, s.n * s.k, [&](Count i) {
    thread_local std::vector<W> row, sum;
    row_of(s, a, i, row);
    sum.assign(static_cast<std::size_t>(s.n), W(0));
    if (s.transpose_b)
      for (Count j = 0; j < s.n; ++j) sum[static_cast<std::size_t>(j)] = dot(s.k, row.data(), b + j * s.ldb);
    else
      for (Count p = 0; p < s.k; ++p) axpy(s.n, row[static_cast<std::size_t>(p)], b + p * s.ldb, sum.data());
    C* to = c + i * s.ldc;
    for (Count j = 0; j < s.n; ++j) {
      const W v = sum[static_cast<std::size_t>(j)];
      to[j] = static_cast<C>(s.add ? static_cast<W>(wide(to[j])) + v : v);
    }
  });
}

template <typename A, typename B, typename C>
void matmul(const MatmulShape& s, const A* a, const B* b, C* c) {
  plain_matmul(s, a, b, c);
}

}  // namespace LLMCALC_ISA
}  // namespace llmcalc::model
