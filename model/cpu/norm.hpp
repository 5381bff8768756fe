#pragma once
/// LayerNorm (Ba et al. 2016, arXiv:1607.06450) and RMSNorm (Zhang, Sennrich 2019, arXiv:1910.07467), row by row.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/pointwise.hpp"

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
  W mean(0);
  if (s.centred) mean = sum_of<W>(s.width, [=](Count i) { return wide(x[i]); }) / n;
  const W square = sum_of<W>(s.width, [=](Count i) { return (wide(x[i]) - mean) * (wide(x[i]) - mean); });
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
  each<T>(s.rows, s.width, [&](Count r) {
    const T *x = static_cast<const T*>(v.x) + r * v.x_stride, *w = static_cast<const T*>(v.weight),
            *b = static_cast<const T*>(v.bias);
    const auto [mean, inverse] = row_statistics(s, x, v.epsilon);
    const W m = mean, f = inverse;
    T* to = y + r * s.width;
    const Count o = weights_of(s, v, r);
    if (w != nullptr && b != nullptr)
      lanes<T>(0, s.width,
               [=](Count i) { to[i] = static_cast<T>((wide(x[i]) - m) * f * wide(w[o + i]) + wide(b[o + i])); });
    else if (w != nullptr)
      lanes<T>(0, s.width, [=](Count i) { to[i] = static_cast<T>((wide(x[i]) - m) * f * wide(w[o + i])); });
    else
      lanes<T>(0, s.width, [=](Count i) { to[i] = static_cast<T>((wide(x[i]) - m) * f); });
    if (statistics == nullptr) return;
    if (s.centred)
      statistics[2 * r] = m, statistics[2 * r + 1] = f;
    else
      statistics[r] = f;
  });
}

/// dx of one row: (g - mean(g) - n mean(g n)) inverse with g = dy w and n the normalised row; RMSNorm has no mean(g).
/// weight(i): w, or 1.
template <typename T, typename F>
void norm_row_gradient(const Norm& s, const T* x, const T* dy, RowStatistics<Wide<T>> st, T* dx, bool add,
                       const F& weight) {
  using W = Wide<T>;
  const W n = number<W>(static_cast<double>(s.width)), m = st.mean, f = st.inverse;
  const auto g = [=](Count i) { return wide(dy[i]) * weight(i); };
  const auto normal = [=](Count i) { return (wide(x[i]) - m) * f; };
  const W sum = s.centred ? sum_of<W>(s.width, g) / n : W(0);
  const W with_n = sum_of<W>(s.width, [=](Count i) { return g(i) * normal(i); }) / n;
  put_lanes(0, s.width, dx, add, [=](Count i) { return (g(i) - sum - normal(i) * with_n) * f; });
}

/// dw += dy n, db += dy, over the rows; each column belongs to one thread, so that the order of the sum is fixed.
template <typename T>
void norm_weight_gradient(const Norm& s, const NormView& v, const std::vector<RowStatistics<Wide<T>>>& st, const T* dy,
                          Wide<T>* dw, Wide<T>* db) {
  stripes<T>(s.width, s.rows, [&](Count first, Count last) {
    for (Count r = 0; r < s.rows; ++r) {
      const T *x = static_cast<const T*>(v.x) + r * v.x_stride, *d = dy + r * s.width;
      const Wide<T> m = st[static_cast<std::size_t>(r)].mean, f = st[static_cast<std::size_t>(r)].inverse;
      Wide<T>*to_w = dw + weights_of(s, v, r), *to_b = db + (db != nullptr ? weights_of(s, v, r) : 0);
      lanes<T>(first, last, [=](Count i) { to_w[i] += wide(d[i]) * (wide(x[i]) - m) * f; });
      if (db != nullptr) lanes<T>(first, last, [=](Count i) { to_b[i] += wide(d[i]); });
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
    const T *from = x + r * v.x_stride, *d = dy + r * s.width, *mine = w != nullptr ? w + weights_of(s, v, r) : nullptr;
    T* to = dx + r * v.x_stride;
    const RowStatistics<W> mean = st[static_cast<std::size_t>(r)];
    if (mine != nullptr)
      norm_row_gradient(s, from, d, mean, to, add, [=](Count i) { return wide(mine[i]); });
    else
      norm_row_gradient(s, from, d, mean, to, add, [](Count) { return W(1); });
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
