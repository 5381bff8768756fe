#pragma once
/// Element-wise operators: sums, products, activations, gates.

#include "model/backend.hpp"
#include "model/cpu/sum.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Writes v to *to, or adds it.
template <typename T, typename W>
void put(T* to, W v, bool add) {
  *to = static_cast<T>(add ? wide(*to) + v : v);
}

/// to[i] = f(i) for i of [first, last), or added to it. The choice is made before the loop, which it would keep from
/// being vectorised.
template <typename T, typename F>
LLMCALC_FLAT void put_lanes(Count first, Count last, T* to, bool add, const F f) {
  if (add)
    lanes<T>(first, last, [=](Count i) { to[i] = static_cast<T>(wide(to[i]) + f(i)); });
  else
    lanes<T>(first, last, [=](Count i) { to[i] = static_cast<T>(f(i)); });
}

template <typename T>
void add(Count n, const T* a, const T* b, T* y) {
  everywhere<T>(n, [=](Count i) { y[i] = static_cast<T>(wide(a[i]) + wide(b[i])); });
}

template <typename T>
void multiply(Count n, const T* a, const T* b, T* y) {
  everywhere<T>(n, [=](Count i) { y[i] = static_cast<T>(wide(a[i]) * wide(b[i])); });
}
template <typename T>
void multiply_gradient(Count n, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db, bool add_b) {
  chunks<T>(n, [=](Count first, Count last) {
    put_lanes(first, last, da, add_a, [=](Count i) { return wide(dy[i]) * wide(b[i]); });
    put_lanes(first, last, db, add_b, [=](Count i) { return wide(dy[i]) * wide(a[i]); });
  });
}

/// y = a sigmoid(g), one g per row.
template <typename T>
void scale(Count rows, Count width, const T* a, const T* g, T* y) {
  each<T>(rows, width, [=](Count r) {
    const auto s = sigmoid(wide(g[r]));
    lanes<T>(r * width, (r + 1) * width, [=](Count i) { y[i] = static_cast<T>(wide(a[i]) * s); });
  });
}
template <typename T>
void scale_gradient(Count rows, Count width, const T* a, const T* g, const T* dy, T* da, bool add_a, T* dg,
                    bool add_g) {
  using W = Wide<T>;
  each<T>(rows, width, [=](Count r) {
    const W s = sigmoid(wide(g[r]));
    const T *mine = a + r * width, *d = dy + r * width;
    const W sum = sum_of<W>(width, [=](Count i) { return wide(d[i]) * wide(mine[i]); });
    put_lanes(0, width, da + r * width, add_a, [=](Count i) { return wide(d[i]) * s; });
    put(dg + r, sum * s * (W(1) - s), add_g);
  });
}

template <typename F, typename T>
void activate(Count n, const T* x, T* y) {
  everywhere<T>(
      n, [=](Count i) { y[i] = static_cast<T>(F::value(wide(x[i]))); }, x, y);
}
template <typename F, typename T>
void activate_gradient(Count n, const T* x, const T* dy, T* dx, bool add) {
  chunks<T>(n, [=](Count first, Count last) {
    put_lanes(first, last, dx, add, [=](Count i) { return wide(dy[i]) * F::slope(wide(x[i])); });
  });
}

/// y = act(a) b
template <typename F, typename T>
void gate(Count n, const T* a, const T* b, T* y) {
  everywhere<T>(
      n, [=](Count i) { y[i] = static_cast<T>(F::value(wide(a[i])) * wide(b[i])); }, a, b, y);
}
template <typename F, typename T>
void gate_gradient(Count n, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db, bool add_b) {
  chunks<T>(n, [=](Count first, Count last) {
    put_lanes(first, last, da, add_a, [=](Count i) { return wide(dy[i]) * wide(b[i]) * F::slope(wide(a[i])); });
    put_lanes(first, last, db, add_b, [=](Count i) { return wide(dy[i]) * F::value(wide(a[i])); });
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
