#pragma once
/// Element-wise operators: sums, products, activations, gates.

#include "model/backend.hpp"
#include "model/cpu/parallel.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Writes v to *to, or adds it.
template <typename T, typename W>
void put(T* to, W v, bool add) {
  *to = static_cast<T>(add ? wide(*to) + v : v);
}

template <typename T>
void add(Count n, const T* a, const T* b, T* y) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) y[i] = static_cast<T>(wide(a[i]) + wide(b[i]));
  });
}

template <typename T>
void multiply(Count n, const T* a, const T* b, T* y) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) y[i] = static_cast<T>(wide(a[i]) * wide(b[i]));
  });
}
template <typename T>
void multiply_gradient(Count n, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db, bool add_b) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) {
      const auto d = wide(dy[i]), left = wide(a[i]), right = wide(b[i]);
      put(da + i, d * right, add_a);
      put(db + i, d * left, add_b);
    }
  });
}

/// y = a sigmoid(g), one g per row.
template <typename T>
void scale(Count rows, Count width, const T* a, const T* g, T* y) {
  each<T>(rows, width, [=](Count r) {
    const auto s = sigmoid(wide(g[r]));
    for (Count i = r * width; i < (r + 1) * width; ++i) y[i] = static_cast<T>(wide(a[i]) * s);
  });
}
template <typename T>
void scale_gradient(Count rows, Count width, const T* a, const T* g, const T* dy, T* da, bool add_a, T* dg,
                    bool add_g) {
  using W = Wide<T>;
  each<T>(rows, width, [=](Count r) {
    const W s = sigmoid(wide(g[r]));
    W sum(0);
    for (Count i = r * width; i < (r + 1) * width; ++i) {
      sum += wide(dy[i]) * wide(a[i]);
      put(da + i, wide(dy[i]) * s, add_a);
    }
    put(dg + r, sum * s * (W(1) - s), add_g);
  });
}

template <typename F, typename T>
void activate(Count n, const T* x, T* y) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) y[i] = static_cast<T>(F::value(wide(x[i])));
  });
}
template <typename F, typename T>
void activate_gradient(Count n, const T* x, const T* dy, T* dx, bool add) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) put(dx + i, wide(dy[i]) * F::slope(wide(x[i])), add);
  });
}

/// y = act(a) b
template <typename F, typename T>
void gate(Count n, const T* a, const T* b, T* y) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) y[i] = static_cast<T>(F::value(wide(a[i])) * wide(b[i]));
  });
}
template <typename F, typename T>
void gate_gradient(Count n, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db, bool add_b) {
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) {
      const auto d = wide(dy[i]), left = wide(a[i]), right = wide(b[i]);
      put(da + i, d * right * F::slope(left), add_a);
      put(db + i, d * F::value(left), add_b);
    }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
