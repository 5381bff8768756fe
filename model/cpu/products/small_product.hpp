#pragma once
/// Matmuls of small wide matrices, row by row, and their FLOPs.

#include "calc/units.hpp"
#include "model/cpu/products/narrow.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename W>
class SmallProducts {
 public:
  Flops done() const { return flops(2, multiply_adds_); }

  W dot_of(Count n, const W* a, const W* b) {
    W product;
    write_with_rows(1, 1, n, a, b, &product);
    return product;
  }
  /// y += c x
  void add_row(Count n, W c, const W* x, W* y) { add(1, n, 1, &c, x, y); }
  /// c (m, n) += a (m, k) b (k, n)
  void add(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    multiply_adds_ += m * n * k;
    add_product(m, n, k, a, k, 1, b, c);
  }
  /// c (m, n) += a' b, with a (k, m), b (k, n)
  void add_with_columns(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    multiply_adds_ += m * n * k;
    add_product(m, n, k, a, 1, m, b, c);
  }
  /// c (m, n) = a b', with a (m, k), b (n, k)
  void write_with_rows(Count m, Count n, Count k, const W* a, const W* b, W* c) {
    multiply_adds_ += m * n * k;
    product_with_rows(m, n, k, a, b, c);
  }

 private:
  Count multiply_adds_ = 0;
};

}  // namespace llmcalc::model::LLMCALC_ISA
