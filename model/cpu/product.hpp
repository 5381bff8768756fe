#pragma once
/// The two loops that matrix products and attention are made of.

#include "model/cpu/parallel.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// While one lives, Counted books its multiplications and additions as those of a product.
template <typename W>
struct InProduct {};
template <>
struct InProduct<Counted> {
  bool before = Counted::in_product;
  InProduct() { Counted::in_product = true; }
  ~InProduct() { Counted::in_product = before; }
  InProduct(const InProduct&) = delete;
  InProduct& operator=(const InProduct&) = delete;
};

/// sum of a_i b_i
template <typename A, typename B>
Wide<A> dot(Count n, const A* a, const B* b) {
  [[maybe_unused]] const InProduct<Wide<A>> scope;
  using W = Wide<A>;
  W s(0);
  if constexpr (threaded<W>) {
#pragma omp simd reduction(+ : s)
    for (Count i = 0; i < n; ++i) s += wide(a[i]) * wide(b[i]);
  } else {
    for (Count i = 0; i < n; ++i) s += wide(a[i]) * wide(b[i]);
  }
  return s;
}

/// y += c x, y wide
template <typename X>
void axpy(Count n, Wide<X> c, const X* x, Wide<X>* y) {
  [[maybe_unused]] const InProduct<Wide<X>> scope;
  for (Count i = 0; i < n; ++i) y[i] += c * wide(x[i]);
}

}  // namespace llmcalc::model::LLMCALC_ISA
