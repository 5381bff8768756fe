#pragma once
/// Products of a few rows with a matrix that is read once, at the speed of memory: decoding.

#include "model/cuda/pack.hpp"
#include "model/cuda/together.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

/// M rows of W with up to R rows x in a block, whose threads share out the columns. Each thread asks for 8 packs of W
/// before it uses the first: 16 KiB under way in a block of 128 threads. Room: M R numbers per warp.
template <typename T, int R, int M>
struct VecRows {
  static constexpr int N = pack_of<T>, ahead = 8 / M;
  Count rows, in, x_stride;
  const T* x;

  /// row(m): where row m of W begins.
  template <typename Thread, typename Row>
  LLMCALC_HD void multiply(const Thread& t, const Row& row) const {
    const Count whole = in / N;
    const Pack<T, N>* from[M];
    LLMCALC_UNROLL
    for (int m = 0; m < M; ++m) from[m] = packs<N>(row(m));
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
  /// `start` and product i = m R + r: sums over lanes, then over warps in order.
  template <typename Thread>
  LLMCALC_HD float product(const Thread& t, int i, float start) const {
    const float* const room = reinterpret_cast<const float*>(t.room());
    for (int k = 0; k < t.size() / warp; ++k) start += room[k * M * R + i];
    return start;
  }

 private:
  LLMCALC_HD void add(Count at, const Pack<T, N> (&w)[M], float (&sum)[M * R]) const {
    LLMCALC_UNROLL
    for (int r = 0; r < R; ++r) {
      const Pack<T, N> v = load<N>(x + (r < rows ? r : rows - 1) * x_stride + at * N);
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
};

/// A matrix W of `out` rows that x is multiplied with, and where the result goes, in rows of `out` numbers. The first
/// of its blocks follows those of the matrices before it.
template <typename T>
struct VecMatrix {
  Count out, block;
  const T *weight, *bias;
  void* y;

  /// Past the last row: the last once more, which nobody writes.
  LLMCALC_HD const T* row(Count o, Count in) const { return weight + (o < out ? o : out - 1) * in; }
  LLMCALC_HD float start(Count o) const { return bias != nullptr ? wide(bias[o]) : 0.0f; }
};

/// y = x W' + b for K matrices, M rows of one of them per block.
template <typename T, int R, int M, int K>
struct MatVec {
  VecRows<T, R, M> block;
  VecMatrix<T> matrix[K];
  bool wide_output;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    VecMatrix<T> a = matrix[0];
    LLMCALC_UNROLL
    for (int k = 1; k < K; ++k)
      if (t.block() >= matrix[k].block) a = matrix[k];
    const Count first = (t.block() - a.block) * M;
    block.multiply(t, [&](int m) { return a.row(first + m, block.in); });
    const int i = t.index(), r = i % R;
    const Count o = first + i / R;
    if (i >= M * R || r >= block.rows || o >= a.out) return;
    const float all = block.product(t, i, a.start(o));
    if (wide_output)
      static_cast<float*>(a.y)[r * a.out + o] = all;
    else
      static_cast<T*>(a.y)[r * a.out + o] = static_cast<T>(all);
  }
};

/// Both products of a gated MLP and y = act(gate) up, M / 2 rows of each matrix per block.
template <typename T, int R, int M>
struct GatedMatVec {
  VecRows<T, R, M> block;
  VecMatrix<T> gate, up;
  Activation act;
  T* y;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count first = t.block() * (M / 2);
    block.multiply(t, [&](int m) { return (m % 2 == 0 ? gate : up).row(first + m / 2, block.in); });
    const int r = t.index() % R, pair = t.index() / R;
    const Count o = first + pair, at = r * gate.out + o;
    if (pair >= M / 2 || r >= block.rows || o >= gate.out) return;
    const T left = static_cast<T>(block.product(t, 2 * pair * R + r, gate.start(o)));
    const T right = static_cast<T>(block.product(t, (2 * pair + 1) * R + r, up.start(o)));
    static_cast<T*>(gate.y)[at] = left, static_cast<T*>(up.y)[at] = right;
    y[at] = static_cast<T>(activated(act, wide(left)) * wide(right));
  }
};

/// What such a product is given; `y` has rows of `out` numbers.
template <typename T>
struct FewRows {
  static constexpr int most = 3;  ///< in one launch
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
    all.size() == 1 ? multiply<1>(device, all) : multiply<most>(device, all);
  }
  /// True: these are a gate a and b, of `count` numbers each, and were made with to = act(a) b.
  template <typename Device>
  static bool gated(Device& device, std::span<const FewRows> all, Activation act, const T* a, const T* b, Count count,
                    T* to) {
    if (all.size() != 2 || all[0].y != a || all[1].y != b || all[0].out != all[1].out) return false;
    if (all[0].rows * all[0].out != count || all[0].wide_output) return false;
    for (const FewRows& each : all)
      for (const Extent& read : each.reads())
        if (read.meets(extent(to, count))) return false;
    all[0].by_rows([&]<int R, int M>(const VecRows<T, R, M>& block) {
      launch<R, M>(device, GatedMatVec<T, R, M>{block, all[0].matrix(0), all[1].matrix(0), act, to},
                   all[0].blocks(M / 2));
    });
    return true;
  }

 private:
  Count blocks(int each) const { return (out + each - 1) / each; }
  VecMatrix<T> matrix(Count block) const { return {out, block, weight, bias, y}; }

  template <typename F>
  void by_rows(const F& f) const {
    if (rows == 1) return f(VecRows<T, 1, 2>{rows, in, x_stride, x});
    if (rows == 2) return f(VecRows<T, 2, 2>{rows, in, x_stride, x});
    rows <= 4 ? f(VecRows<T, 4, 4>{rows, in, x_stride, x}) : f(VecRows<T, 8, 4>{rows, in, x_stride, x});
  }
  template <int K, typename Device>
  static void multiply(Device& device, std::span<const FewRows> all) {
    all[0].by_rows([&]<int R, int M>(const VecRows<T, R, M>& block) {
      MatVec<T, R, M, K> kernel{block, {}, all[0].wide_output};
      Count blocks = 0;
      for (std::size_t k = 0; k < K; ++k) {  // a place that is left over has no blocks
        const FewRows& a = all[std::min(k, all.size() - 1)];
        kernel.matrix[k] = a.matrix(blocks);
        if (k < all.size()) blocks += a.blocks(M);
      }
      launch<R, M>(device, kernel, blocks);
    });
  }
  template <int R, int M, typename Device, typename Kernel>
  static void launch(Device& device, const Kernel& kernel, Count blocks) {
    constexpr int threads = 128;
    device.launch(kernel, blocks, threads, threads / warp * M * R * static_cast<Count>(sizeof(float)));
  }
};

}  // namespace llmcalc::model::cuda
