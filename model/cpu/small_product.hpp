#pragma once
/// Products of small matrices of wide numbers, row by row, and the FLOPs done by them.

#include "model/cpu/product.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename W>
class SmallProducts {
 public:
  Flops done() const { return flops(2, multiply_adds_); }

  W dot_of(Count n, const W* a, const W* b) {
    multiply_adds_ += n;
    return dot(n, a, b);
  }
  /// y += c x
  void add_row(Count n, W c, const W* x, W* y) {
    multiply_adds_ += n;
    axpy(n, c, x, y);
  }
  /// c (m, n) += a (m, k) b (k, n)
  void add(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    for (Count i = 0; i < m; ++i)
      for (Count p = 0; p < k; ++p) add_row(n, a[i * k + p], b + p * n, c + i * n);
  }
  /// c (m, n) += a' b, with a (k, m), b (k, n)
  void add_with_columns(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    for (Count p = 0; p < k; ++p)
      for (Count i = 0; i < m; ++i) add_row(n, a[p * m + i], b + p * n, c + i * n);
  }
  /// c (m, n) = a b', with a (m, k), b (n, k)
  void write_with_rows(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    for (Count i = 0; i < m; ++i)
      for (Count j = 0; j < n; ++j) c[i * n + j] = dot_of(k, a + i * k, b + j * k);
  }

 private:
  Count multiply_adds_ = 0;
};

}  // namespace llmcalc::model::LLMCALC_ISA
