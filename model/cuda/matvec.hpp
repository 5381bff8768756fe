#pragma once
/// Products of a few rows with a matrix that is read once, at the speed of memory: decoding.

#include "model/cuda/pack.hpp"

namespace llmcalc::model::cuda {

/// y = x W' + b for up to R rows x, M rows of W per block, whose threads share out the columns. Each thread asks for 8
/// packs of W before it uses the first: 16 KiB under way in a block of 128 threads. Room: M R numbers per warp.
template <typename T, int R, int M>
struct MatVec {
  static constexpr int N = pack_of<T>, ahead = 8 / M;
  Count rows, in, out, x_stride;
  const T *x, *weight, *bias;
  void* y;
  bool wide_output;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count first = t.block() * M, whole = in / N;
    float sum[M * R] = {};
    for (Count at = t.index(); at < whole; at += ahead * t.size()) {
      Pack<T, N> w[ahead][M] = {};
      LLMCALC_UNROLL
      for (int i = 0; i < ahead * M; ++i) {
        const Count pack = at + i / M * t.size();
        if (pack < whole) w[i / M][i % M] = t.stream(packs<N>(row(first + i % M)) + pack);
      }
      LLMCALC_UNROLL
      for (int u = 0; u < ahead; ++u)
        if (at + u * t.size() < whole) multiply(at + u * t.size(), w[u], sum);
    }
    finish(t, first, sum);
  }
  /// Past the last row: the last once more, which nobody writes.
  LLMCALC_HD const T* row(Count o) const { return weight + (o < out ? o : out - 1) * in; }

  LLMCALC_HD void multiply(Count at, const Pack<T, N> (&w)[M], float (&sum)[M * R]) const {
    LLMCALC_UNROLL
    for (int r = 0; r < R; ++r) {
      const Pack<T, N> v = load<N>(x + (r < rows ? r : rows - 1) * x_stride + at * N);
      LLMCALC_UNROLL
      for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) sum[m * R + r] += wide(w[m].x[n]) * wide(v.x[n]);
    }
  }
  /// Sums over lanes, then over warps in order.
  template <typename Thread>
  LLMCALC_HD void finish(const Thread& t, Count first, float (&sum)[M * R]) const {
    float* const room = reinterpret_cast<float*>(t.room());
    const int which = lane_sums<M * R>(t, sum, warp);
    if (t.index() % (warp / (M * R)) == 0) room[t.index() / warp * M * R + which] = sum[0];
    t.sync();
    const int i = t.index(), r = i % R;
    const Count o = first + i / R;
    if (i >= M * R || r >= rows || o >= out) return;
    float all = bias != nullptr ? wide(bias[o]) : 0.0f;
    for (int k = 0; k < t.size() / warp; ++k) all += room[k * M * R + i];
    if (wide_output)
      static_cast<float*>(y)[r * out + o] = all;
    else
      static_cast<T*>(y)[r * out + o] = static_cast<T>(all);
  }
};

/// What such a product is given; `y` has rows of `out` numbers.
template <typename T>
struct FewRows {
  Count rows, in, out, x_stride;
  const T *x, *weight, *bias;
  void* y;
  bool wide_output;

  /// Few enough rows of whole packs.
  static bool fits(Count rows, Count in) { return rows >= 1 && rows <= 8 && in % pack_of<T> == 0; }
  /// And all of them begin at a pack.
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
  void launch(Device& device) const {
    constexpr int threads = 128;
    constexpr Count room = threads / warp * M * R * static_cast<Count>(sizeof(float));
    device.launch(MatVec<T, R, M>{rows, in, out, x_stride, x, weight, bias, y, wide_output}, (out + M - 1) / M, threads,
                  room);
  }
};

}  // namespace llmcalc::model::cuda
