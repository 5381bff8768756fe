#pragma once
/// Kernels that work row by row: norms, gates per row, cross-entropy. A block per row, sums in a fixed order.

#include "model/backend.hpp"
#include "model/cuda/thread.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

/// Of one row, made by its block: mean is 0 in RMSNorm.
template <typename W>
struct RowStatistics {
  W mean, inverse;
};
template <typename Thread, typename T>
LLMCALC_HD RowStatistics<Wide<T>> row_statistics(const Thread& t, const Norm& s, const T* x, double epsilon) {
  using W = Wide<T>;
  W* const room = reinterpret_cast<W*>(t.room());
  const W n = static_cast<W>(s.width);
  W sum(0), square(0);
  if (s.centred) {
    in_block(t, s.width, [&](Count i) { sum += wide(x[i]); });
    sum = block_sum(t, sum, room);
  }
  const W mean = sum / n;
  in_block(t, s.width, [&](Count i) { square += (wide(x[i]) - mean) * (wide(x[i]) - mean); });
  return {mean, W(1) / sqrt_of(block_sum(t, square, room) / n + static_cast<W>(epsilon))};
}

/// y = (x - mean) inverse w + b.
template <typename T>
struct NormRows {
  using W = Wide<T>;
  Norm s;
  NormView v;
  T* y;
  W* statistics;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count r = t.block(), o = r % v.heads * s.width;
    const T* const x = static_cast<const T*>(v.x) + r * v.x_stride;
    const T *const w = static_cast<const T*>(v.weight), *const b = static_cast<const T*>(v.bias);
    const auto [mean, inverse] = row_statistics(t, s, x, v.epsilon);
    const W m = mean, f = inverse;
    in_block(t, s.width, [&](Count i) {
      W z = (wide(x[i]) - m) * f;
      if (w != nullptr) z = z * wide(w[o + i]);
      if (b != nullptr) z = z + wide(b[o + i]);
      y[r * s.width + i] = static_cast<T>(z);
    });
    if (statistics == nullptr || t.index() != 0) return;
    if (s.centred)
      statistics[2 * r] = m, statistics[2 * r + 1] = f;
    else
      statistics[r] = f;
  }
};

/// dx = (g - mean(g) - n mean(g n)) inverse with g = dy w and n the normalised row. Where no statistics were kept they
/// are made again, into `made` (mean, inverse), which the weights' gradients read.
template <typename T>
struct NormRowsGradient {
  using W = Wide<T>;
  Norm s;
  NormView v;
  const W* statistics;
  const T* dy;
  T* dx;
  bool add;
  W* made;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    W* const room = reinterpret_cast<W*>(t.room());
    const Count r = t.block(), o = r % v.heads * s.width;
    const T *const x = static_cast<const T*>(v.x) + r * v.x_stride, *const d = dy + r * s.width;
    const T* const w = static_cast<const T*>(v.weight);
    const W n = static_cast<W>(s.width);
    RowStatistics<W> st{};
    if (statistics == nullptr)
      st = row_statistics(t, s, x, v.epsilon);
    else
      st = s.centred ? RowStatistics<W>{statistics[2 * r], statistics[2 * r + 1]}
                     : RowStatistics<W>{W(0), statistics[r]};
    const W mean = st.mean, inverse = st.inverse;
    if (t.index() == 0) made[2 * r] = mean, made[2 * r + 1] = inverse;
    W sum(0), with_n(0);
    in_block(t, s.width, [&](Count i) {
      const W g = w != nullptr ? wide(d[i]) * wide(w[o + i]) : wide(d[i]);
      sum += g, with_n += g * (wide(x[i]) - mean) * inverse;
    });
    sum = s.centred ? block_sum(t, sum, room) / n : W(0);
    with_n = block_sum(t, with_n, room) / n;
    T* const to = dx + r * v.x_stride;
    in_block(t, s.width, [&](Count i) {
      const W g = w != nullptr ? wide(d[i]) * wide(w[o + i]) : wide(d[i]);
      put(to + i, (g - sum - (wide(x[i]) - mean) * inverse * with_n) * inverse, add);
    });
  }
};

/// partial[group] = sums of dy n and of dy over the rows of a group, for every column of every head's weights; groups
/// are added up in order (AddPartial), so that the sums are the same in every run.
template <typename T>
struct NormWeightSums {
  using W = Wide<T>;
  Norm s;
  NormView v;
  const W* made;
  const T* dy;
  W* partial;
  Count size;  ///< rows of a group
  static constexpr Count tile = 128;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count weights = v.heads * s.width, tiles = (weights + tile - 1) / tile;
    const Count group = t.block() / tiles, from = t.block() % tiles * tile;
    const Count begin = group * size, end = begin + size < s.rows ? begin + size : s.rows;
    in_block(t, weights - from < tile ? weights - from : tile, [&](Count i) {
      const Count c = from + i, head = c / s.width, column = c % s.width;
      W weight(0), bias(0);
      for (Count r = begin + (head - begin % v.heads + v.heads) % v.heads; r < end; r += v.heads) {
        const W d = wide(dy[r * s.width + column]);
        const W x = wide(static_cast<const T*>(v.x)[r * v.x_stride + column]);
        weight += d * (x - made[2 * r]) * made[2 * r + 1], bias += d;
      }
      partial[2 * group * weights + c] = weight, partial[(2 * group + 1) * weights + c] = bias;
    });
  }
};

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

/// Log-softmax of a row in place; -log p of its target.
struct LossRows {
  Count vocabulary;
  const std::int64_t* targets;
  float* logits;
  float* losses;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    float* const room = reinterpret_cast<float*>(t.room());
    float* const x = logits + t.block() * vocabulary;
    float most = x[0], sum = 0;
    in_block(t, vocabulary, [&](Count i) { most = x[i] > most ? x[i] : most; });
    most = block_most(t, most, room);
    in_block(t, vocabulary, [&](Count i) { sum += exp_of(x[i] - most); });
    const float norm = most + log_of(block_sum(t, sum, room));
    in_block(t, vocabulary, [&](Count i) { x[i] = x[i] - norm; });
    t.sync();
    if (t.index() == 0) losses[t.block()] = -x[targets[t.block()]];
  }
};

/// The mean of n numbers; one block.
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

/// The logits' gradient in the products' format, in place: each row keeps its beginning.
template <typename T>
struct RoundRows {
  Count width;
  float* rows;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const float* const from = rows + t.block() * width;
    T* const to = reinterpret_cast<T*>(rows + t.block() * width);
    for (Count at = 0; at < width; at += t.size()) {
      const Count i = at + t.index();
      const T value = static_cast<T>(i < width ? from[i] : 0.0f);
      t.sync();  // what lies under `to` has been read
      if (i < width) to[i] = value;
      t.sync();
    }
  }
};

/// Sums of squares of stretches of `size` numbers.
struct SquareSums {
  Count n, size;
  const float* x;
  double* sums;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count begin = t.block() * size, end = begin + size < n ? begin + size : n;
    double s = 0;
    for (Count i = begin + t.index(); i < end; i += t.size())
      s += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    s = block_sum(t, s, reinterpret_cast<double*>(t.room()));
    if (t.index() == 0) sums[t.block()] = s;
  }
};

/// The sum of n numbers; one block.
struct SumOf {
  Count n;
  const double* x;
  double* sum;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    double all = 0;
    in_block(t, n, [&](Count i) { all += x[i]; });
    all = block_sum(t, all, reinterpret_cast<double*>(t.room()));
    if (t.index() == 0) *sum = all;
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
