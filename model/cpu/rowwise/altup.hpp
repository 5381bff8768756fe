#pragma once
/// Alternating updates, token by token.

#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/layers/altup.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Magnitudes for rescaling a projection z to the magnitude of x.
template <typename T>
struct Magnitudes {
  using W = Wide<T>;
  W width, own, other;  ///< D, and the magnitudes of x and z
  bool is_small;        ///< whether the magnitude of z is clamped to the minimum
  Magnitudes(Count n, const T* x, const T* z) : width(number<W>(static_cast<double>(n))) {
    const W least = number<W>(least_magnitude_squared), square = row_product(n, z, z) / width;
    is_small = !(square > least);
    own = sqrt_of(row_product(n, x, x) / width);
    other = sqrt_of(is_small ? least : square);
  }
  W ratio() const { return own / other; }
};

/// Pointers to one row of streams and to its projections.
template <typename T>
struct StackRow {
  const T *x, *projected;
  StackRow(const StackView& v, Count row, Count others)
      : x(static_cast<const T*>(v.x) + row * v.x_stride),
        projected(static_cast<const T*>(v.projected) + row * others) {}
};

template <typename T>
T* place(const GradientPlace& g, Count at) {
  return static_cast<T*>(g.to) + at;
}

/// Gradients of rescaled projections, where d(i, c) is the gradient of element c of projection i. Adds the gradient of
/// x to `dx`, and writes or adds dz.
template <typename T, typename F>
void add_rescaled_gradient(Count n, Count width, const StackRow<T>& row, const F& d, Wide<T>* dx, T* dz, bool add) {
  using W = Wide<T>;
  for (Count i = 0; i + 1 < n; ++i) {
    const T *const z = row.projected + i * width, *const x = row.x;
    const Magnitudes<T> m(width, row.x, z);
    const W along = sum_of<W>(width, [=](Count c) { return d(i, c) * wide(z[c]); });
    const W r = m.ratio(), back = m.is_small ? W(0) : r * along / (m.other * m.other * m.width);
    const W grow = m.own > W(0) ? along / (m.other * m.own * m.width) : W(0);
    put_lanes(0, width, dz + i * width, add, [=](Count c) { return r * d(i, c) - back * wide(z[c]); });
    lanes<W>(0, width, [=](Count c) { dx[c] += grow * wide(x[c]); });
  }
}

template <typename T>
void stack(const Pointwise& s, const StackView& v, T* y) {
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, s.width, [&](Count r) {
    const StackRow<T> row(v, r, s.width - width);
    std::copy_n(row.x, width, y + r * s.width);
    for (Count i = 0; i + 1 < n; ++i) {
      const T* const z = row.projected + i * width;
      const auto times = Magnitudes<T>(width, row.x, z).ratio();
      put_lanes(0, width, y + r * s.width + (i + 1) * width, false, [=](Count c) { return wide(z[c]) * times; });
    }
  });
}
template <typename T>
void stack_gradient(const Pointwise& s, const StackView& v, const T* dy, GradientPlace dx, GradientPlace dz) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, s.width, [&](Count r) {
    Aligned<W> own(static_cast<std::size_t>(width));
    const T* const d = dy + r * s.width;
    for (Count c = 0; c < width; ++c) own[static_cast<std::size_t>(c)] = wide(d[c]);
    add_rescaled_gradient<T>(
        n, width, {v, r, s.width - width}, [=](Count i, Count c) { return wide(d[(i + 1) * width + c]); }, own.data(),
        place<T>(dz, r * (s.width - width)), dz.add);
    put_lanes(0, width, place<T>(dx, r * width), dx.add, [from = own.data()](Count c) { return from[c]; });
  });
}

template <typename T>
void merge(const Pointwise& s, const StackView& v, T* y) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width;
  const W share = W(1) / number<W>(static_cast<double>(n));
  each<T>(s.rows, n * width, [&](Count r) {
    const StackRow<T> row(v, r, (n - 1) * width);
    Aligned<W> sums(static_cast<std::size_t>(width));
    W* const sum = sums.data();
    lanes<W>(0, width, [=, x = row.x](Count c) { sum[c] = wide(x[c]); });
    for (Count i = 0; i + 1 < n; ++i) {
      const T* const z = row.projected + i * width;
      const W times = Magnitudes<T>(width, row.x, z).ratio();
      lanes<W>(0, width, [=](Count c) { sum[c] += wide(z[c]) * times; });
    }
    put_lanes(0, width, y + r * width, false, [=](Count c) { return sum[c] * share; });
  });
}
/// Only the first stream of x contributes. The gradients of the other streams are set to 0 or, if dx is accumulated,
/// left unchanged.
template <typename T>
void merge_gradient(const Pointwise& s, const StackView& v, const T* dy, GradientPlace dx, GradientPlace dz) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width;
  const W share = W(1) / number<W>(static_cast<double>(n));
  each<T>(s.rows, n * width, [&](Count r) {
    Aligned<W> own(static_cast<std::size_t>(width));
    const T* const d = dy + r * width;
    for (Count c = 0; c < width; ++c) own[static_cast<std::size_t>(c)] = wide(d[c]) * share;
    add_rescaled_gradient<T>(
        n, width, {v, r, (n - 1) * width}, [=](Count, Count c) { return wide(d[c]) * share; }, own.data(),
        place<T>(dz, r * (n - 1) * width), dz.add);
    T* const to = place<T>(dx, r * v.x_stride);
    put_lanes(0, width, to, dx.add, [from = own.data()](Count c) { return from[c]; });
    if (!dx.add) put_lanes(width, n * width, to, false, [](Count) { return W(0); });
  });
}

template <typename T>
void predict(const Pointwise& s, const T* x, const T* c, T* y) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, n * s.width, [&](Count r) {
    const T *const from = x + r * s.width, *const by = c + r * n * n;
    for (Count i = 0; i < n; ++i)
      put_lanes(0, width, y + r * s.width + i * width, false, [=](Count k) {
        W sum = wide(from[i * width + k]);
        for (Count j = 0; j < n; ++j) sum += wide(by[i * n + j]) * wide(from[j * width + k]);
        return sum;
      });
  });
}
template <typename T>
void predict_gradient(const Pointwise& s, const T* x, const T* c, const T* dy, GradientPlace dx, GradientPlace dc) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, 2 * n * s.width, [&](Count r) {
    const T *const from = x + r * s.width, *const by = c + r * n * n, *const d = dy + r * s.width;
    for (Count i = 0; i < n; ++i)
      for (Count j = 0; j < n; ++j)
        put(place<T>(dc, r * n * n) + i * n + j, row_product(width, d + i * width, from + j * width), dc.add);
    for (Count j = 0; j < n; ++j)
      put_lanes(0, width, place<T>(dx, r * s.width + j * width), dx.add, [=](Count k) {
        W sum = wide(d[j * width + k]);
        for (Count i = 0; i < n; ++i) sum += wide(by[i * n + j]) * wide(d[i * width + k]);
        return sum;
      });
  });
}

template <typename T>
void correct(const Pointwise& s, const T* p, const T* result, const T* k, T* y) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, s.width, [&](Count r) {
    const T *const from = p + r * s.width, *const new_one = result + r * width;
    for (Count i = 0; i < n; ++i) {
      const W share = W(1) + wide(k[r * n + i]);
      put_lanes(0, width, y + r * s.width + i * width, false,
                [=](Count c) { return wide(from[i * width + c]) + share * (wide(new_one[c]) - wide(from[c])); });
    }
  });
}
template <typename T>
void correct_gradient(const Pointwise& s, const T* p, const T* result, const T* k, const T* dy, GradientPlace dp,
                      GradientPlace dresult, GradientPlace dk) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, 2 * s.width, [&](Count r) {
    const T *const from = p + r * s.width, *const new_one = result + r * width, *const d = dy + r * s.width;
    Aligned<W> sums(static_cast<std::size_t>(width), W(0));
    W* const sum = sums.data();
    for (Count i = 0; i < n; ++i) {
      const W share = W(1) + wide(k[r * n + i]);
      const T* const mine = d + i * width;
      put(place<T>(dk, r * n + i),
          sum_of<W>(width, [=](Count c) { return wide(mine[c]) * (wide(new_one[c]) - wide(from[c])); }), dk.add);
      lanes<W>(0, width, [=](Count c) { sum[c] += share * wide(mine[c]); });
    }
    put_lanes(0, width, place<T>(dresult, r * width), dresult.add, [=](Count c) { return sum[c]; });
    T* const to = place<T>(dp, r * s.width);
    put_lanes(0, width, to, dp.add, [=](Count c) { return wide(d[c]) - sum[c]; });
    put_lanes(width, s.width, to, dp.add, [=](Count c) { return wide(d[c]); });
  });
}

/// y (rows, width) = the first stream of x, plus a unless it is null.
template <typename T>
void first_stream(const Pointwise& s, Count streams, const T* x, const T* a, T* y) {
  each<T>(s.rows, s.width, [&](Count r) {
    const T *const from = x + r * streams * s.width, *const more = a + r * s.width;
    if (a == nullptr)
      std::copy_n(from, s.width, y + r * s.width);
    else
      put_lanes(0, s.width, y + r * s.width, false, [=](Count c) { return wide(from[c]) + wide(more[c]); });
  });
}
template <typename T>
void first_stream_gradient(const Pointwise& s, Count streams, const T* dy, T* dx) {
  each<T>(s.rows, s.width, [&](Count r) {
    put_lanes(0, s.width, dx + r * streams * s.width, true, [=, d = dy + r * s.width](Count c) { return wide(d[c]); });
  });
}

template <typename T>
void share(const Pointwise& s, const T* x, const T* y, T* out) {
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, s.width, [&](Count r) {
    const T *const from = x + r * s.width, *const more = y + r * width;
    T* const to = out + r * s.width;
    std::copy_n(from, width, to);
    for (Count i = 1; i < n; ++i)
      put_lanes(0, width, to + i * width, false, [=](Count c) { return wide(from[i * width + c]) + wide(more[c]); });
  });
}
template <typename T>
void share_gradient(const Pointwise& s, const T* d_out, GradientPlace dy) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, s.width, [&](Count r) {
    put_lanes(0, width, place<T>(dy, r * width), dy.add, [=, d = d_out + r * s.width](Count c) {
      W sum(0);
      for (Count i = 1; i < n; ++i) sum += wide(d[i * width + c]);
      return sum;
    });
  });
}

template <typename T>
void scale_by(const Pointwise& s, const T* x, const T* w, T* y) {
  each<T>(s.rows, s.width, [&](Count r) {
    put_lanes(0, s.width, y + r * s.width, false,
              [=, from = x + r * s.width](Count c) { return wide(from[c]) * wide(w[c]); });
  });
}
template <typename T>
void scale_by_gradient(const Pointwise& s, const T* x, const T* w, const T* dy, GradientPlace dx, Wide<T>* dw) {
  each<T>(s.rows, s.width, [&](Count r) {
    put_lanes(0, s.width, place<T>(dx, r * s.width), dx.add,
              [=, d = dy + r * s.width](Count c) { return wide(d[c]) * wide(w[c]); });
  });
  if (dw == nullptr) return;
  stripes<T>(s.width, s.rows, [&](Count first, Count last) {
    for (Count r = 0; r < s.rows; ++r)
      lanes<T>(first, last,
               [=, d = dy + r * s.width, from = x + r * s.width](Count c) { dw[c] += wide(d[c]) * wide(from[c]); });
  });
}

/// The CPU's AltUp kernels, with elements of type T.
template <typename T>
class CpuAltUp final : public AltUpKernels {
  static const T* n(const void* p) { return static_cast<const T*>(p); }
  static T* n(void* p) { return static_cast<T*>(p); }

 public:
  void stack(const Pointwise& s, const StackView& v, void* y) override { LLMCALC_ISA::stack(s, v, n(y)); }
  void stack_gradient(const Pointwise& s, const StackView& v, const void* dy, GradientPlace dx,
                      GradientPlace dprojected) override {
    LLMCALC_ISA::stack_gradient(s, v, n(dy), dx, dprojected);
  }
  void merge(const Pointwise& s, const StackView& v, void* y) override { LLMCALC_ISA::merge(s, v, n(y)); }
  void merge_gradient(const Pointwise& s, const StackView& v, const void* dy, GradientPlace dx,
                      GradientPlace dprojected) override {
    LLMCALC_ISA::merge_gradient(s, v, n(dy), dx, dprojected);
  }
  void predict(const Pointwise& s, const void* x, const void* c, void* y) override {
    LLMCALC_ISA::predict(s, n(x), n(c), n(y));
  }
  void predict_gradient(const Pointwise& s, const void* x, const void* c, const void* dy, GradientPlace dx,
                        GradientPlace dc) override {
    LLMCALC_ISA::predict_gradient(s, n(x), n(c), n(dy), dx, dc);
  }
  void correct(const Pointwise& s, const void* p, const void* result, const void* k, void* y) override {
    LLMCALC_ISA::correct(s, n(p), n(result), n(k), n(y));
  }
  void correct_gradient(const Pointwise& s, const void* p, const void* result, const void* k, const void* dy,
                        GradientPlace dp, GradientPlace dresult, GradientPlace dk) override {
    LLMCALC_ISA::correct_gradient(s, n(p), n(result), n(k), n(dy), dp, dresult, dk);
  }
  void first(const Pointwise& s, Count streams, const void* x, const void* a, void* y) override {
    first_stream(s, streams, n(x), n(a), n(y));
  }
  void first_gradient(const Pointwise& s, Count streams, const void* dy, void* dx) override {
    first_stream_gradient(s, streams, n(dy), n(dx));
  }
  void share(const Pointwise& s, const void* x, const void* y, void* out) override {
    LLMCALC_ISA::share(s, n(x), n(y), n(out));
  }
  void share_gradient(const Pointwise& s, const void* d_out, GradientPlace dy) override {
    LLMCALC_ISA::share_gradient(s, n(d_out), dy);
  }
  void scale(const Pointwise& s, const void* x, const void* w, void* y) override { scale_by(s, n(x), n(w), n(y)); }
  void scale_gradient(const Pointwise& s, const void* x, const void* w, const void* dy, GradientPlace dx,
                      void* dw) override {
    scale_by_gradient(s, n(x), n(w), n(dy), dx, static_cast<Wide<T>*>(dw));
  }
};

}  // namespace llmcalc::model::LLMCALC_ISA
