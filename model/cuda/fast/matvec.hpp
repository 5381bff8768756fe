#pragma once
/// Gain: a token's matrices are read at the speed of memory. Measure: the bytes per second of gpu-check's decode_8b,
/// and the DRAM bytes of its phase by validate's counters.
///
/// Matmuls of a few rows by a matrix that is read once, at the speed of memory, for decoding.

#include "model/cuda/kernels/pack.hpp"

namespace llmcalc::model::cuda {

/// y = x W' + b, with x and y row-major; rows of `y` have `out` elements.
template <typename T>
struct FewRows {
  Count rows, in, out, x_stride;
  const T *x, *weight, *bias;
  void* y;
  bool wide_output;

  /// Whether the rows are few enough and consist of whole packs.
  static bool fits(Count rows, Count in) { return rows >= 1 && rows <= 8 && in % pack_of<T> == 0; }
  /// Whether this kernel applies, which also requires that all rows begin at a pack boundary.
  bool can() const {
    constexpr int N = pack_of<T>;
    return fits(rows, in) && (rows == 1 || x_stride % N == 0) && at_packs<N>(x, weight);
  }
  template <typename Device>
  void run(Device& device) const {
    if (rows == 1) return launch<1, 2>(device);
    if (rows == 2) return launch<2, 2>(device);
    rows <= 4 ? launch<4, 4>(device) : launch<8, 4>(device);
  }

 private:
  template <int R, int M, typename Device>
  void launch(Device& device) const;
};

/// M rows of W times up to R rows of x in a block, whose threads share the columns. Each thread loads 8 packs of W
/// before it uses the first: 16 KiB in flight in a block of 128 threads. Shared memory: M R elements per warp.
template <typename T, int R, int M>
struct MatVec {
  static constexpr int N = pack_of<T>, ahead = 8 / M;
  FewRows<T> a;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count first = t.block() * M;
    multiply(t, first);
    const int i = t.index(), r = i % R;
    const Count o = first + i / R, at = r * a.out + o;
    if (i >= M * R || r >= a.rows || o >= a.out) return;
    const float all = product(t, i, a.bias != nullptr ? wide(a.bias[o]) : 0.0f);
    if (a.wide_output)
      static_cast<float*>(a.y)[at] = all;
    else
      static_cast<T*>(a.y)[at] = static_cast<T>(all);
  }

 private:
  /// Row o of W; past the end, the last row, whose results are not written.
  LLMCALC_HD const T* row(Count o) const { return a.weight + (o < a.out ? o : a.out - 1) * a.in; }

  template <typename Thread>
  LLMCALC_HD void multiply(const Thread& t, Count first) const {
    const Count whole = a.in / N;
    const Pack<T, N>* from[M];
    LLMCALC_UNROLL
    for (int m = 0; m < M; ++m) from[m] = packs<N>(row(first + m));
    float sum[M * R] = {};
    for (Count at = t.index(); at < whole; at += ahead * t.size()) {
      Pack<T, N> w[ahead][M] = {};
      LLMCALC_UNROLL
      for (int i = 0; i < ahead * M; ++i) {
        const Count pack = at + i / M * t.size();
        if (pack < whole) w[i / M][i % M] = t.stream(from[i % M] + pack);
      }
      LLMCALC_UNROLL
      for (int u = 0; u < ahead; ++u)
        if (at + u * t.size() < whole) add(at + u * t.size(), w[u], sum);
    }
    leave(t, sum);
  }
  LLMCALC_HD void add(Count at, const Pack<T, N> (&w)[M], float (&sum)[M * R]) const {
    LLMCALC_UNROLL
    for (int r = 0; r < R; ++r) {
      const Pack<T, N> v = load<N>(a.x + (r < a.rows ? r : a.rows - 1) * a.x_stride + at * N);
      LLMCALC_UNROLL
      for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) sum[m * R + r] += wide(w[m].x[n]) * wide(v.x[n]);
    }
  }
  template <typename Thread>
  LLMCALC_HD void leave(const Thread& t, float (&sum)[M * R]) const {
    const int which = lane_sums<M * R>(t, sum, warp);
    if (t.index() % (warp / (M * R)) == 0)
      reinterpret_cast<float*>(t.room())[t.index() / warp * M * R + which] = sum[0];
    t.sync();
  }
  /// `start` plus dot product i = m R + r, summed over lanes, then over warps in order.
  template <typename Thread>
  LLMCALC_HD float product(const Thread& t, int i, float start) const {
    const float* const room = reinterpret_cast<const float*>(t.room());
    for (int k = 0; k < t.size() / warp; ++k) start += room[k * M * R + i];
    return start;
  }
};

template <typename T>
template <int R, int M, typename Device>
void FewRows<T>::launch(Device& device) const {
  constexpr int threads = 128;
  device.launch(MatVec<T, R, M>{*this}, (out + M - 1) / M, threads,
                threads / warp * M * R * static_cast<Count>(sizeof(float)));
}

}  // namespace llmcalc::model::cuda
