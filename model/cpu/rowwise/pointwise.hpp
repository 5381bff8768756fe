#pragma once
/// Element-wise operators: sums, products, activations, gates.

#include "model/backend.hpp"
#include "model/cpu/products/narrow.hpp"
#include "model/cpu/sum.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Writes v to *to, or adds it.
template <typename T, typename W>
void put(T* to, W v, bool add) {
  *to = static_cast<T>(add ? wide(*to) + v : v);
}

template <typename T>
void add(Count n, const T* a, const T* b, T* y) {
  put_rows_everywhere(n, y, add_rows<Wide<T>>, a, b);
}

/// x becomes most tanh(x / most).
template <typename T>
void cap(Count n, Wide<T> most, T* x) {
  for (Count i = 0; i < n; ++i) x[i] = static_cast<T>(most * tanh_of(wide(x[i]) / most));
}

template <typename T>
void cap_everywhere(Count n, Wide<T> most, T* x) {
  chunks<T>(n, [=](Count first, Count last) { cap(last - first, most, x + first); });
}

template <typename T>
void multiply(Count n, const T* a, const T* b, T* y) {
  put_rows_everywhere(n, y, multiply_rows<Wide<T>>, a, b);
}
template <typename T>
void multiply_gradient(Count n, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db, bool add_b) {
  chunks<T>(n, [=](Count first, Count last) {
    put_rows(first, last, da, add_a, multiply_rows<Wide<T>>, dy, b);
    put_rows(first, last, db, add_b, multiply_rows<Wide<T>>, dy, a);
  });
}

/// y = a sigmoid(g), one g per row.
template <typename T>
void scale(Count rows, Count width, const T* a, const T* g, T* y) {
  each<T>(rows, width, [=](Count r) {
    const auto s = sigmoid(wide(g[r]));
    put_lanes(r * width, (r + 1) * width, y, false, [=](Count i) { return wide(a[i]) * s; });
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

template <typename T>
void activate(Count n, const ActivationRows<Wide<T>>& f, const T* x, T* y) {
  put_rows_everywhere(n, y, f.value, x);
}
template <typename T>
void activate_gradient(Count n, const ActivationRows<Wide<T>>& f, const T* x, const T* dy, T* dx, bool add) {
  const auto block = [=](Count first, Count last) { put_rows(first, last, dx, add, f.slope, x, dy); };
  fetched_blocks<T>(n, block, x, dy, dx);
}

/// y = act(a) b
template <typename T>
void gate(Count n, const ActivationRows<Wide<T>>& f, const T* a, const T* b, T* y) {
  put_rows_everywhere(n, y, f.gate, a, b);
}
template <typename T>
void gate_gradient(Count n, const ActivationRows<Wide<T>>& f, const T* a, const T* b, const T* dy, T* da, bool add_a,
                   T* db, bool add_b) {
  const auto block = [=](Count first, Count last) {
    put_rows(first, last, da, add_a, f.gate_slope, a, b, dy);
    put_rows(first, last, db, add_b, f.gate, a, dy);
  };
  fetched_blocks<T>(n, block, a, b, dy, da, db);
}

}  // namespace llmcalc::model::LLMCALC_ISA
