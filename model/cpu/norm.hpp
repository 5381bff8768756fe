#pragma once
/// LayerNorm (Ba et al. 2016, arXiv:1607.06450) and RMSNorm (Zhang, Sennrich 2019, arXiv:1910.07467), row by row.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/parallel.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// y = (x - mean) inverse: mean is 0 in RMSNorm.
template <typename W>
struct RowStatistics {
  W mean, inverse;
};

template <typename T>
RowStatistics<Wide<T>> row_statistics(const Norm& s, const T* x, double epsilon) {
  using W = Wide<T>;
  const W n = number<W>(static_cast<double>(s.width));
  W mean(0), square(0);
  if (s.centred) {
    if constexpr (threaded<T>) {
#pragma omp simd reduction(+ : mean)
      for (Count i = 0; i < s.width; ++i) mean += wide(x[i]);
    } else {
      for (Count i = 0; i < s.width; ++i) mean += wide(x[i]);
    }
    mean = mean / n;
  }
  if constexpr (threaded<T>) {
#pragma omp simd reduction(+ : square)
    for (Count i = 0; i < s.width; ++i) square += (wide(x[i]) - mean) * (wide(x[i]) - mean);
  } else {
    for (Count i = 0; i < s.width; ++i) square += (wide(x[i]) - mean) * (wide(x[i]) - mean);
  }
  return {mean, W(1) / sqrt_of(square / n + W(epsilon))};
}

template <typename W>
RowStatistics<W> kept_statistics(const Norm& s, const W* kept, Count row) {
  return s.centred ? RowStatistics<W>{kept[2 * row], kept[2 * row + 1]} : RowStatistics<W>{W(0), kept[row]};
}

/// Row r's weights: one set, or one per head.
inline Count weights_of(const Norm& s, const NormView& v, Count row) { return row % v.heads * s.width; }

template <typename T>
void norm(const Norm& s, const NormView& v, T* y, Wide<T>* statistics) {
  using W = Wide<T>;
  const T *x = static_cast<const T*>(v.x), *w = static_cast<const T*>(v.weight), *b = static_cast<const T*>(v.bias);
  each<T>(s.rows, s.width, [&](Count r) {
    const T* from = x + r * v.x_stride;
    const RowStatistics<W> st = row_statistics(s, from, v.epsilon);
    T* to = y + r * s.width;
    const Count o = weights_of(s, v, r);
    for (Count i = 0; i < s.width; ++i) {
      W n = (wide(from[i]) - st.mean) * st.inverse;
      if (w != nullptr) n = n * wide(w[o + i]);
      if (b != nullptr) n = n + wide(b[o + i]);
      to[i] = static_cast<T>(n);
    }
    if (statistics == nullptr) return;
    if (s.centred)
      statistics[2 * r] = st.mean, statistics[2 * r + 1] = st.inverse;
    else
      statistics[r] = st.inverse;
  });
}

/// dx of one row: (g - mean(g) - n mean(g n)) inverse with g = dy w and n the normalised row; RMSNorm has no mean(g).
template <typename T>
void norm_row_gradient(const Norm& s, const T* x, const T* w, const T* dy, RowStatistics<Wide<T>> st, T* dx, bool add) {
  using W = Wide<T>;
  const W n = number<W>(static_cast<double>(s.width));
  W sum(0), with_n(0);
  const auto g = [&](Count i) { return w != nullptr ? wide(dy[i]) * wide(w[i]) : wide(dy[i]); };
  const auto normal = [&](Count i) { return (wide(x[i]) - st.mean) * st.inverse; };
  if constexpr (threaded<T>) {
#pragma omp simd reduction(+ : sum, with_n)
    for (Count i = 0; i < s.width; ++i) sum += g(i), with_n += g(i) * normal(i);
  } else {
    for (Count i = 0; i < s.width; ++i) sum += g(i), with_n += g(i) * normal(i);
  }
  sum = s.centred ? sum / n : W(0);
  with_n = with_n / n;
  for (Count i = 0; i < s.width; ++i) {
    const W d = (g(i) - sum - normal(i) * with_n) * st.inverse;
    dx[i] = static_cast<T>(add ? wide(dx[i]) + d : d);
  }
}

/// dw += dy n, db += dy, over the rows; each column belongs to one thread, so that the order of the sum is fixed.
template <typename T>
void norm_weight_gradient(const Norm& s, const NormView& v, const std::vector<RowStatistics<Wide<T>>>& st, const T* dy,
                          Wide<T>* dw, Wide<T>* db) {
  const T* x = static_cast<const T*>(v.x);
  constexpr Count block = 128;
  each<T>((s.width + block - 1) / block, block * s.rows, [&](Count c) {
    const Count first = c * block, last = std::min(s.width, first + block);
    for (Count r = 0; r < s.rows; ++r) {
      const auto [mean, inverse] = st[static_cast<std::size_t>(r)];
      const Count o = weights_of(s, v, r);
      for (Count i = first; i < last; ++i) {
        const Wide<T> d = wide(dy[r * s.width + i]);
        dw[o + i] += d * (wide(x[r * v.x_stride + i]) - mean) * inverse;
        if (db != nullptr) db[o + i] += d;
      }
    }
  });
}

template <typename T>
void norm_gradient(const Norm& s, const NormView& v, const Wide<T>* statistics, const T* dy, T* dx, bool add,
                   Wide<T>* dw, Wide<T>* db) {
  using W = Wide<T>;
  const T *x = static_cast<const T*>(v.x), *w = static_cast<const T*>(v.weight);
  std::vector<RowStatistics<W>> st(static_cast<std::size_t>(s.rows));
  each<T>(s.rows, s.width, [&](Count r) {
    auto& mine = st[static_cast<std::size_t>(r)];
    mine = statistics != nullptr ? kept_statistics(s, statistics, r) : row_statistics(s, x + r * v.x_stride, v.epsilon);
  });
  if (dw != nullptr) norm_weight_gradient(s, v, st, dy, dw, db);
  each<T>(s.rows, s.width, [&](Count r) {
    norm_row_gradient(s, x + r * v.x_stride, w != nullptr ? w + weights_of(s, v, r) : nullptr, dy + r * s.width,
                      st[static_cast<std::size_t>(r)], dx + r * v.x_stride, add);
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
