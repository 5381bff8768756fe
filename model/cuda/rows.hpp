#pragma once
/// Kernels that sum within rows: gates per row, squares, what tokens and experts bring back. A block per row, sums in a
/// fixed order.

#include "model/backend.hpp"
#include "model/cuda/pack.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

/// y = a sigmoid(g): da = dy sigmoid(g), dg = sum(dy a) s (1 - s), one g per row.
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

/// Sums of squares of stretches of `size` numbers, a multiple of N.
template <int N>
struct SquareSums {
  Count n, size;
  const float* x;
  double* sums;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count begin = t.block() * size, end = begin + size < n ? begin + size : n;
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

/// dtable[row] += the gradients of the tokens in a bucket, in order; a block per bucket. N divides the width.
template <typename T, int N>
struct BucketSums {
  Count width;
  const Count *first, *token, *row;  ///< of bucket i: tokens token[first[i]] to token[first[i + 1]], row row[i]
  const T* dy;
  float* table;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count bucket = t.block();
    in_block(t, width / N, [&](Count i) {
      Pack<float, N>* const to = packs<N>(table + row[bucket] * width) + i;
      Pack<float, N> sum = *to;
      LLMCALC_UNROLL_4
      for (Count k = first[bucket]; k < first[bucket + 1]; ++k) {
        const Pack<T, N> p = load<N>(dy + token[k] * width + i * N);
        for (int n = 0; n < N; ++n) sum.x[n] += wide(p.x[n]);
      }
      *to = sum;
    });
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
