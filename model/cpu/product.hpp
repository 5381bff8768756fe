#pragma once
/// The two loops that matrix products and attention are made of.

#include <cstdint>
#include <cstring>

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

/// sum of a_i b_i, of one pair of rows or of several one after another
template <typename W>
class Dot {
 public:
  template <typename A, typename B>
  LLMCALC_INLINE Dot& add(Count n, const A* a, const B* b) {
    const W more = product(n, a, b);
    sum_ = first_ ? more : sum_ + more;  // beside the additions of a product, which has one for each multiplication
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

/// Sixteen floats, in as many registers as the instruction set needs.
using Floats [[gnu::vector_size(64)]] = float;
LLMCALC_INLINE void take(Floats& to, const float* from) { std::memcpy(&to, from, sizeof to); }
LLMCALC_INLINE void take(Floats& to, const bf16* from) {
  using Halves [[gnu::vector_size(32)]] = std::uint16_t;
  using Words [[gnu::vector_size(64)]] = std::uint32_t;
  Halves bits;
  std::memcpy(&bits, from, sizeof bits);
  const Words words = __builtin_convertvector(bits, Words) << 16U;
  std::memcpy(&to, &words, sizeof to);
}

/// In sixteen sums, whose halves are added to each other in the end: added up one by one they would take most of the
/// time of rows of a head's width.
template <>
class Dot<float> {
 public:
  template <typename A, typename B>
  LLMCALC_INLINE Dot& add(Count n, const A* a, const B* b) {
    Count i = 0;
    for (Floats x, y; i + 16 <= n; i += 16) {
      take(x, a + i), take(y, b + i);
      sums_ += x * y;
    }
    for (; i < n; ++i) rest_ += wide(a[i]) * wide(b[i]);
    return *this;
  }
  LLMCALC_INLINE float total() const {
    Floats s = sums_;
    s += __builtin_shufflevector(s, s, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    s += __builtin_shufflevector(s, s, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    s += __builtin_shufflevector(s, s, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    return s[0] + s[1] + rest_;
  }

 private:
  Floats sums_{};
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
