#pragma once
/// Norms by rows: a block per row, which reads its row once and keeps it in shared memory while it computes sums.

#include "model/backend.hpp"
#include "model/cuda/kernels/column_sums.hpp"
#include "model/cuda/kernels/pack.hpp"

namespace llmcalc::model::cuda {

/// A row of T, and the block's copy of it for later reads; `room` is null if the row is too long.
template <typename T, int N>
struct SavedRow {
  const T* from;
  T* room;

  LLMCALC_HD Pack<T, N> first(Count i) const {
    const Pack<T, N> p = load<N>(from + i);
    if (room != nullptr) *packs<N>(room + i) = p;
    return p;
  }
  /// A pack that this thread has read before.
  LLMCALC_HD Pack<T, N> reload(Count i) const { return load<N>((room != nullptr ? room : from) + i); }
};

/// Calls f(i) for every pack of a row; the same thread always handles the same packs.
template <int N, typename Thread, typename F>
LLMCALC_HD void in_row(const Thread& t, Count width, const F& f) {
  for (Count i = static_cast<Count>(t.index()) * N; i < width; i += static_cast<Count>(t.size()) * N) f(i);
}

/// Statistics of one row; mean is 0 in RMSNorm.
struct NormStatistics {
  float mean, inverse;
};
/// Reads a row for the first time and computes its statistics. room: an element per warp.
template <typename T, int N, typename Thread>
LLMCALC_HD NormStatistics row_statistics(const Thread& t, const Norm& s, const SavedRow<T, N>& x, double epsilon,
                                         float* room) {
  const float n = static_cast<float>(s.width);
  float sum = 0, square = 0, mean = 0;
  in_row<N>(t, s.width, [&](Count i) {
    const auto p = x.first(i);
    for (int k = 0; k < N; ++k) {
      sum += wide(p.x[k]);
      square += wide(p.x[k]) * wide(p.x[k]);
    }
  });
  if (s.centered) {
    mean = block_sum(t, sum, room) / n;
    square = 0;
    in_row<N>(t, s.width, [&](Count i) {
      const auto p = x.reload(i);
      for (int k = 0; k < N; ++k) square += (wide(p.x[k]) - mean) * (wide(p.x[k]) - mean);
    });
  }
  return {mean, 1.0f / sqrt_of(block_sum(t, square, room) / n + static_cast<float>(epsilon))};
}

inline constexpr Count norm_line = 64;  ///< bytes for the sums of a block: a float for each of 16 warps

/// y = (x - mean) inverse w + b. Shared memory: norm_line bytes, then a row if `saved`.
template <typename T, int N>
struct NormRows {
  Norm s;
  NormView v;
  T* y;
  float* statistics;
  bool saved;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count r = t.block(), o = r % v.heads * s.width;
    const SavedRow<T, N> x{static_cast<const T*>(v.x) + r * v.x_stride,
                           saved ? reinterpret_cast<T*>(t.room() + norm_line) : nullptr};
    const T *const w = static_cast<const T*>(v.weight), *const b = static_cast<const T*>(v.bias);
    const NormStatistics st = row_statistics(t, s, x, v.epsilon, reinterpret_cast<float*>(t.room()));
    in_row<N>(t, s.width, [&](Count i) {
      const Pack<T, N> p = x.reload(i);
      Pack<T, N> by{}, plus{}, to;
      if (w != nullptr) by = load<N>(w + o + i);
      if (b != nullptr) plus = load<N>(b + o + i);
      for (int k = 0; k < N; ++k) {
        float z = (wide(p.x[k]) - st.mean) * st.inverse;
        if (w != nullptr) z = z * wide(by.x[k]);
        if (b != nullptr) z = z + wide(plus.x[k]);
        to.x[k] = static_cast<T>(z);
      }
      *packs<N>(y + r * s.width + i) = to;
    });
    if (statistics == nullptr || t.index() != 0) return;
    if (s.centered) {
      statistics[2 * r] = st.mean;
      statistics[2 * r + 1] = st.inverse;
    } else {
      statistics[r] = st.inverse;
    }
  }
};

/// The gradients of a norm's weight and bias: sums over tokens of dy n and of dy, for every column.
struct NormSums {
  float *weight, *bias;
};

/// The gradient of a norm. A block processes one head of a group of tokens, and reads x and dy once:
///   dx = inverse (g - mean(g) - n mean(g n))   where g = dy w, and n is the normalized row.
/// It also sums its tokens' contributions to the gradients of w and b. Statistics that were not saved are recomputed.
/// Shared memory: norm_line bytes; a row each of x and dy if `saved`; the sums if `near`, otherwise they accumulate
/// in `partial`.
template <typename T, int N>
struct NormRowsGradient {
  Norm s;
  NormView v;
  const float* statistics;
  const T* dy;
  T* dx;
  bool add;
  Count size;      ///< number of tokens in a group
  float* partial;  ///< (groups, 2, heads, width); null: no gradients of weights
  bool saved, near;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count head = t.block() % v.heads, group = t.block() / v.heads, tokens = s.rows / v.heads;
    const Count end = (group + 1) * size < tokens ? (group + 1) * size : tokens;
    const NormSums far = far_sums(group, head), sums = near ? near_sums(t.room()) : far;
    if (partial != nullptr) each_number(t, [&](Count i) { sums.weight[i] = sums.bias[i] = 0; });
    for (Count token = group * size; token < end; ++token) one_row(t, token * v.heads + head, sums);
    if (!near || partial == nullptr) return;
    each_number(t, [&](Count i) {
      far.weight[i] = sums.weight[i];
      far.bias[i] = sums.bias[i];
    });
  }

 private:
  LLMCALC_HD NormSums far_sums(Count group, Count head) const {
    if (partial == nullptr) return {};
    float* const weight = partial + (2 * group * v.heads + head) * s.width;
    return {weight, weight + v.heads * s.width};
  }
  LLMCALC_HD NormSums near_sums(std::byte* room) const {
    float* const weight =
        reinterpret_cast<float*>(room + norm_line + (saved ? 2 * s.width * static_cast<Count>(sizeof(T)) : 0));
    return {weight, weight + s.width};
  }
  /// Calls f(i) for every element of a row, in the thread that handles the element's pack.
  template <typename Thread, typename F>
  LLMCALC_HD void each_number(const Thread& t, const F& f) const {
    in_row<N>(t, s.width, [&](Count i) {
      for (int k = 0; k < N; ++k) f(i + k);
    });
  }

  template <typename Thread>
  LLMCALC_HD void one_row(const Thread& t, Count r, const NormSums& sums) const {
    float* const room = reinterpret_cast<float*>(t.room());
    T* const rows = saved ? reinterpret_cast<T*>(t.room() + norm_line) : nullptr;
    const T* const w = v.weight != nullptr ? static_cast<const T*>(v.weight) + r % v.heads * s.width : nullptr;
    const SavedRow<T, N> x{static_cast<const T*>(v.x) + r * v.x_stride, rows};
    const SavedRow<T, N> d{dy + r * s.width, saved ? rows + s.width : nullptr};
    NormStatistics st{};
    if (statistics == nullptr)
      st = row_statistics(t, s, x, v.epsilon, room);
    else
      st = s.centered ? NormStatistics{statistics[2 * r], statistics[2 * r + 1]} : NormStatistics{0.0f, statistics[r]};
    float sum = 0, with_n = 0;
    in_row<N>(t, s.width, [&](Count i) {
      const Pack<T, N> row = statistics == nullptr ? x.reload(i) : x.first(i), from = d.first(i);
      float g[N];
      by_weight(w, i, from, g);
      for (int k = 0; k < N; ++k) {
        const float n = (wide(row.x[k]) - st.mean) * st.inverse;
        sum += g[k];
        with_n += g[k] * n;
        if (sums.weight == nullptr) continue;
        sums.weight[i + k] += wide(from.x[k]) * n;
        sums.bias[i + k] += wide(from.x[k]);
      }
    });
    const float width = static_cast<float>(s.width), mean = s.centered ? block_sum(t, sum, room) / width : 0.0f;
    with_n = block_sum(t, with_n, room) / width;
    T* const to = dx + r * v.x_stride;
    in_row<N>(t, s.width, [&](Count i) {
      const Pack<T, N> row = x.reload(i);
      float g[N], old[N] = {};
      by_weight(w, i, d.reload(i), g);
      const Column<T> column{to, add, true};
      column.template get<N>(i, old);
      for (int k = 0; k < N; ++k)
        old[k] += (g[k] - mean - (wide(row.x[k]) - st.mean) * st.inverse * with_n) * st.inverse;
      column.template set<N>(i, old);
    });
  }
  LLMCALC_HD static void by_weight(const T* w, Count i, const Pack<T, N>& d, float (&g)[N]) {
    Pack<T, N> by{};
    if (w != nullptr) by = load<N>(w + i);
    for (int k = 0; k < N; ++k) g[k] = w != nullptr ? wide(d.x[k]) * wide(by.x[k]) : wide(d.x[k]);
  }
};

/// Launches a norm's kernels on a device, with packs if the rows are aligned to them.
template <typename T, typename Device>
class Norms {
  static constexpr int N = pack_of<T>;
  static constexpr Count most_room = 96 * 1024;  ///< most bytes of shared memory per block, so that two blocks fit
                                                 ///< on a multiprocessor

  /// Number of threads of a block: one per pack, in whole warps.
  static int threads(Count width, int pack) {
    return static_cast<int>(std::clamp<Count>((width + pack * warp - 1) / (pack * warp), 1, 8)) * warp;
  }
  template <typename... X>
  static bool by_packs(const Norm& s, const NormView& v, const X*... others) {
    return s.width % N == 0 && (s.rows == 1 || v.x_stride % N == 0) &&
           at_packs<N>(static_cast<const T*>(v.x), static_cast<const T*>(v.weight), static_cast<const T*>(v.bias),
                       others...);
  }
  template <int M>
  static void forward(Device& device, const Norm& s, const NormView& v, T* y, float* statistics) {
    NormRows<T, M> kernel{s, v, y, statistics, false};
    const Count room = norm_line + s.width * static_cast<Count>(sizeof(T));
    kernel.saved = room <= most_room;
    device.launch(kernel, s.rows, threads(s.width, M), kernel.saved ? room : norm_line);
  }
  template <int M>
  static void backward(Device& device, const Norm& s, const NormView& v, const float* statistics, const T* dy, T* dx,
                       bool add, float* dw, float* db) {
    const bool weighed = dw != nullptr;
    const Count tokens = s.rows / v.heads, columns = v.heads * s.width;
    const Count most = weighed ? std::clamp<Count>(tokens / 8, 1, 1024) : tokens, size = (tokens + most - 1) / most;
    const Count groups = (tokens + size - 1) / size;
    const DeviceWorkspace<Device, float> partial(device, weighed ? 2 * groups * columns : 0);
    NormRowsGradient<T, M> kernel{s,     v,    statistics, dy, dx, add, size, weighed ? partial.data() : nullptr,
                                  false, false};
    const Count rows = 2 * s.width * static_cast<Count>(sizeof(T)),
                sums = 2 * s.width * static_cast<Count>(sizeof(float));
    kernel.saved = norm_line + rows <= most_room;
    kernel.near = weighed && kernel.saved && norm_line + rows + sums <= most_room;
    device.launch(kernel, groups * v.heads, threads(s.width, M),
                  norm_line + (kernel.saved ? rows : 0) + (kernel.near ? sums : 0));
    if (weighed) add_groups<2>(device, groups, columns, partial.data(), {dw, db});
  }

 public:
  static void norm(Device& device, const Norm& s, const NormView& v, T* y, float* statistics) {
    if (s.rows == 0) return;
    by_packs(s, v, y) ? forward<N>(device, s, v, y, statistics) : forward<1>(device, s, v, y, statistics);
  }
  static void gradient(Device& device, const Norm& s, const NormView& v, const float* statistics, const T* dy, T* dx,
                       bool add, float* dw, float* db) {
    if (s.rows == 0) return;
    by_packs<T>(s, v, dy, dx) ? backward<N>(device, s, v, statistics, dy, dx, add, dw, db)
                              : backward<1>(device, s, v, statistics, dy, dx, add, dw, db);
  }
};

}  // namespace llmcalc::model::cuda
