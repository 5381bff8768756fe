#pragma once
/// Kernels that sum within rows: gates per row, means and squares, combination of experts. One block per row; the order
/// of additions is fixed.

#include "model/backend.hpp"
#include "model/cuda/kernels/lists.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

/// Gradients of y = a sigmoid(g), one g per row: da = dy s and dg = sum(dy a) s (1 - s), with s = sigmoid(g).
template <typename T>
struct ScaleGradient {
  using W = Wide<T>;
  Count width;
  const T *a, *g, *dy;
  T* da;
  bool add_a;
  T* dg;
  bool add_g;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    W* const room = reinterpret_cast<W*>(t.room());
    const Count r = t.block();
    const W s = sigmoid(wide(g[r]));
    W sum(0);
    in_block(t, width, [&](Count i) { sum += wide(dy[r * width + i]) * wide(a[r * width + i]); });
    sum = block_sum(t, sum, room);
    in_block(t, width, [&](Count i) { put(da + r * width + i, wide(dy[r * width + i]) * s, add_a); });
    if (t.index() == 0) put(dg + r, sum * s * (W(1) - s), add_g);
  }
};

/// The mean of n elements; one block.
struct MeanOf {
  Count n;
  const float* x;
  double* mean;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    double all = 0;
    in_block(t, n, [&](Count i) { all += static_cast<double>(x[i]); });
    all = block_sum(t, all, reinterpret_cast<double*>(t.room()));
    if (t.index() == 0) *mean = all / static_cast<double>(n);
  }
};

/// An array of n elements.
struct FloatArray {
  const float* x;
  Count n;
};
/// Sums of squares over segments of several arrays; a segment has `size` elements, a multiple of N.
template <int N>
struct SquareSums {
  const FloatArray* arrays;
  Stretches all;
  Count size;
  double* sums;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count array = all.array_of(t.block()), n = arrays[array].n;
    const float* const x = arrays[array].x;
    const Count begin = (t.block() - all.begins[array]) * size, end = begin + size < n ? begin + size : n;
    double s = 0;
    const Count whole = begin + (end - begin) / N * N;
    LLMCALC_UNROLL_4
    for (Count i = begin + t.index() * N; i < whole; i += t.size() * N) {
      const Pack<float, N> p = load<N>(x + i);
      for (const float v : p.x) s += static_cast<double>(v) * static_cast<double>(v);
    }
    for (Count i = whole + t.index(); i < end; i += t.size())
      s += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    s = block_sum(t, s, reinterpret_cast<double*>(t.room()));
    if (t.index() == 0) sums[t.block()] = s;
  }
};

/// The sums of the segments of each array; a block per array.
struct ArraySums {
  Stretches all;
  const double* x;
  double* sums;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count begin = all.begins[t.block()];
    double sum = 0;
    in_block(t, all.begins[t.block() + 1] - begin, [&](Count i) { sum += x[begin + i]; });
    sum = block_sum(t, sum, reinterpret_cast<double*>(t.room()));
    if (t.index() == 0) sums[t.block()] = sum;
  }
};

/// dx = gate dy; dgate = dy . x, for a row of an expert.
template <typename T>
struct CombineGradient {
  using W = Wide<T>;
  Count width, experts;
  const Count *token, *expert;
  const T* x;
  const W* gate;
  const T* dy;
  T* dx;
  bool add_x;
  T* dgates;
  bool add_g;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count r = t.block(), from = token[r];
    const T* const d = dy + from * width;
    W sum(0);
    in_block(t, width, [&](Count i) {
      sum += wide(d[i]) * wide(x[r * width + i]);
      put(dx + r * width + i, gate[r] * wide(d[i]), add_x);
    });
    sum = block_sum(t, sum, reinterpret_cast<W*>(t.room()));
    if (t.index() == 0) put(dgates + from * experts + expert[r], sum, add_g);
  }
};

}  // namespace llmcalc::model::cuda
