#pragma once
/// The two loops that matrix products and attention are made of.

#include "model/cpu/sum.hpp"

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
LLMCALC_INLINE Wide<A> dot(Count n, const A* a, const B* b) {
  [[maybe_unused]] const InProduct<Wide<A>> scope;
  return sum_of<Wide<A>>(n, [=](Count i) { return wide(a[i]) * wide(b[i]); });
}

/// y += c x, y wide
template <typename X>
LLMCALC_INLINE void axpy(Count n, Wide<X> c, const X* x, Wide<X>* y) {
  [[maybe_unused]] const InProduct<Wide<X>> scope;
  lanes<Wide<X>>(0, n, [=](Count i) { y[i] += c * wide(x[i]); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
