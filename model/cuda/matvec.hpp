#pragma once
/// Products of a few rows with a matrix that is read once, at the speed of memory: decoding.

#include "model/cuda/pack.hpp"
#include "model/cuda/together.hpp"

namespace llmcalc::model::cuda {

/// A matrix W of `out` rows that x is multiplied with, and where the result goes, in rows of `out` numbers. The first
/// of its blocks follows those of the matrices before it.
template <typename T>
struct VecMatrix {
  Count out, block;
  const T *weight, *bias;
  void* y;
};

/// y = x W' + b for up to R rows x and K matrices, M rows of W per block, whose threads share out the columns. Each
/// thread asks for 8 packs of W before it uses the first: 16 KiB under way in a block of 128 threads. Room: M R numbers
/// per warp.
template <typename T, int R, int M, int K>
struct MatVec {
  static constexpr int N = pack_of<T>, ahead = 8 / M;
  Count rows, in, x_stride;
  const T* x;
  VecMatrix<T> matrix[K];
  bool wide_output;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    VecMatrix<T> a = matrix[0];
    LLMCALC_UNROLL
    for (int k = 1; k < K; ++k)
      if (t.block() >= matrix[k].block) a = matrix[k];
    const Count first = (t.block() - a.block) * M, whole = in / N;
    float sum[M * R] = {};
    for (Count at = t.index(); at < whole; at += ahead * t.size()) {
      Pack<T, N> w[ahead][M] = {};
      LLMCALC_UNROLL
      for (int i = 0; i < ahead * M; ++i) {
        const Count pack = at + i / M * t.size();
        if (pack < whole) w[i / M][i % M] = t.stream(packs<N>(row(a, first + i % M)) + pack);
      }
      LLMCALC_UNROLL
      for (int u = 0; u < ahead; ++u)
        if (at + u * t.size() < whole) multiply(at + u * t.size(), w[u], sum);
    }
    finish(t, a, first, sum);
  }
  /// Past the last row: the last once more, which nobody writes.
  LLMCALC_HD const T* row(const VecMatrix<T>& a, Count o) const { return a.weight + (o < a.out ? o : a.out - 1) * in; }

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
  LLMCALC_HD void finish(const Thread& t, const VecMatrix<T>& a, Count first, float (&sum)[M * R]) const {
    float* const room = reinterpret_cast<float*>(t.room());
    const int which = lane_sums<M * R>(t, sum, warp);
    if (t.index() % (warp / (M * R)) == 0) room[t.index() / warp * M * R + which] = sum[0];
    t.sync();
    const int i = t.index(), r = i % R;
    const Count o = first + i / R;
    if (i >= M * R || r >= rows || o >= a.out) return;
    float all = a.bias != nullptr ? wide(a.bias[o]) : 0.0f;
    for (int k = 0; k < t.size() / warp; ++k) all += room[k * M * R + i];
    if (wide_output)
      static_cast<float*>(a.y)[r * a.out + o] = all;
    else
      static_cast<T*>(a.y)[r * a.out + o] = static_cast<T>(all);
  }
};

/// What such a product is given; `y` has rows of `out` numbers.
template <typename T>
struct FewRows {
  Count rows, in, out, x_stride;
  const T *x, *weight, *bias;
  void* y;
  bool wide_output;

  /// Few enough rows, all of which begin at a pack.
  bool can() const {
    constexpr int N = pack_of<T>;
    return rows >= 1 && rows <= 8 && in % N == 0 && (rows == 1 || x_stride % N == 0) && at_packs<N>(x, weight);
  }
  /// Several of them read x once, in one launch; wide results are few and long, and stay alone.
  bool like(const FewRows& other) const {
    return x == other.x && rows == other.rows && in == other.in && x_stride == other.x_stride && !wide_output &&
           !other.wide_output;
  }
  std::array<Extent, 3> reads() const {
    return {extent(x, (rows - 1) * x_stride + in), extent(weight, out * in), extent(bias, bias != nullptr ? out : 0)};
  }
  Extent writes() const {
    return wide_output ? extent(static_cast<float*>(y), rows * out) : extent(static_cast<T*>(y), rows * out);
  }
  template <typename Device>
  static void run(Device& device, std::span<const FewRows> all) {
    if (all.size() == 1) return by_rows<1>(device, all);
    all.size() == 2 ? by_rows<2>(device, all) : by_rows<3>(device, all);
  }

 private:
  template <int K, typename Device>
  static void by_rows(Device& device, std::span<const FewRows> all) {
    const Count rows = all[0].rows;
    if (rows == 1) return launch<1, 2, K>(device, all);
    if (rows == 2) return launch<2, 2, K>(device, all);
    rows <= 4 ? launch<4, 4, K>(device, all) : launch<8, 4, K>(device, all);
  }
  template <int R, int M, int K, typename Device>
  static void launch(Device& device, std::span<const FewRows> all) {
    constexpr int threads = 128;
    constexpr Count room = threads / warp * M * R * static_cast<Count>(sizeof(float));
    const FewRows& a = all[0];
    MatVec<T, R, M, K> kernel{a.rows, a.in, a.x_stride, a.x, {}, a.wide_output};
    Count blocks = 0;
    for (std::size_t k = 0; k < K; ++k) {
      kernel.matrix[k] = {all[k].out, blocks, all[k].weight, all[k].bias, all[k].y};
      blocks += (all[k].out + M - 1) / M;
    }
    device.launch(kernel, blocks, threads, room);
  }
};

}  // namespace llmcalc::model::cuda
