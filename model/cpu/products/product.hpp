#pragma once
/// The two inner loops of matmuls and attention.

#include "model/cpu/products/vectors.hpp"
#include "model/cpu/sum.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// A scope in which Counted counts multiplications and additions as part of a matmul or attention.
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

/// Sum of a_i b_i over one pair of rows, or over several pairs in sequence.
template <typename W>
class Dot {
 public:
  template <typename A, typename B>
  LLMCALC_INLINE Dot& add(Count n, const A* a, const B* b) {
    const W more = product(n, a, b);
    sum_ = first_ ? more : sum_ + more;  // outside InProduct: not counted as one of the product's additions
    first_ = false;
    return *this;
  }
  W total() const { return sum_; }

 private:
  template <typename A, typename B>
  LLMCALC_INLINE static W product(Count n, const A* a, const B* b) {
    [[maybe_unused]] const InProduct<W> scope;
    return sum_of<W>(n, [=](Count i) { return wide(a[i]) * wide(b[i]); });
  }
  W sum_{0};
  bool first_ = true;
};

/// The float dot product in sixteen partial sums, reduced by halves. For rows of a head's width, a serial reduction
/// would take most of the time.
template <>
class Dot<float> {
 public:
  template <typename A, typename B>
  LLMCALC_INLINE Dot& add(Count n, const A* a, const B* b) {
    Count i = 0;
    for (; i + 16 <= n; i += 16)
      for (Count r = 0; r < registers; ++r) {
        const Count at = i + r * register_floats;
        sums_[r] += take<register_floats>(a + at) * take<register_floats>(b + at);
      }
    for (; i < n; ++i) rest_ += wide(a[i]) * wide(b[i]);
    return *this;
  }
  LLMCALC_INLINE float total() const {
    Floats<register_floats> sums[registers];
    std::copy_n(sums_, registers, sums);
    for (Count half = registers / 2; half > 0; half /= 2)
      for (Count r = 0; r < half; ++r) sums[r] += sums[r + half];
    return added_up<register_floats>(sums[0]) + rest_;
  }

 private:
  static constexpr Count registers = 16 / register_floats;
  Floats<register_floats> sums_[registers]{};
  float rest_ = 0;
};

template <typename A, typename B>
LLMCALC_INLINE Wide<A> dot(Count n, const A* a, const B* b) {
  return Dot<Wide<A>>().add(n, a, b).total();
}

/// y += c x, y wide
template <typename X>
LLMCALC_INLINE void axpy(Count n, Wide<X> c, const X* x, Wide<X>* y) {
  [[maybe_unused]] const InProduct<Wide<X>> scope;
  lanes<Wide<X>>(0, n, [=](Count i) { y[i] += c * wide(x[i]); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
