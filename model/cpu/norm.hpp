#pragma once
/// LayerNorm (Ba et al. 2016, arXiv:1607.06450) and RMSNorm (Zhang, Sennrich 2019, arXiv:1910.07467), row by row.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
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

/// Offset of a row's weights: one set, or one per head.
inline Count weights_of(const Norm& s, const NormView& v, Count row) { return row % v.heads * s.width; }

template <typename T>
void norm(const Norm& s, const NormView& v, T* y, Wide<T>* statistics) {
  using W = Wide<T>;
  each<T>(s.rows, s.width, [&](Count r) {
    const T *x = static_cast<const T*>(v.x) + r * v.x_stride, *w = static_cast<const T*>(v.weight),
            *b = static_cast<const T*>(v.bias);
    const auto [mean, inverse] = row_statistics(s, x, v.epsilon);
    const W m = mean, f = inverse, more = number<W>(v.offset);
    T* to = y + r * s.width;
    const Count o = weights_of(s, v, r);
    const auto weighted = [&](const auto& weight) {
      if (b != nullptr)
        put_lanes(0, s.width, to, false, [=](Count i) { return (wide(x[i]) - m) * f * weight(i) + wide(b[o + i]); });
      else
        put_lanes(0, s.width, to, false, [=](Count i) { return (wide(x[i]) - m) * f * weight(i); });
    };
    if (w == nullptr)
      put_lanes(0, s.width, to, false, [=](Count i) { return (wide(x[i]) - m) * f; });
    else if (v.offset != 0)
      weighted([=](Count i) { return wide(w[o + i]) + more; });
    else
      weighted([=](Count i) { return wide(w[o + i]); });
    if (statistics == nullptr) return;
    if (s.centred) statistics[2 * r] = m;
    statistics[s.centred ? 2 * r + 1 : r] = f;
  });
}

/// Gradients of a set of weights: sums over rows.
template <typename W>
struct WeightSums {
  W *weight = nullptr, *bias = nullptr;
};

/// dx of one row: (g - mean(g) - n mean(g n)) inverse with g = dy w and n the normalised row; RMSNorm has no mean(g).
/// Adds dy n and dy to the sums. weight(i): w, or 1.
template <typename T, typename F>
void norm_row_gradient(const Norm& s, const T* x, const T* dy, RowStatistics<Wide<T>> st, T* dx, bool add,
                       WeightSums<Wide<T>> sums, const F& weight) {
  using W = Wide<T>;
  thread_local Aligned<W> room;
  room.resize(static_cast<std::size_t>(3 * s.width));
  W *const g = room.data(), *const normal = g + s.width, *const d = normal + s.width;
  const W n = number<W>(static_cast<double>(s.width)), m = st.mean, f = st.inverse;
  lanes<T>(0, s.width, [=](Count i) { d[i] = wide(dy[i]), g[i] = d[i] * weight(i), normal[i] = (wide(x[i]) - m) * f; });
  if (sums.weight != nullptr) lanes<T>(0, s.width, [=](Count i) { sums.weight[i] += d[i] * normal[i]; });
  if (sums.bias != nullptr) lanes<T>(0, s.width, [=](Count i) { sums.bias[i] += d[i]; });
  const W sum = s.centred ? sum_of<W>(s.width, [=](Count i) { return g[i]; }) / n : W(0);
  const W with_n = sum_of<W>(s.width, [=](Count i) { return g[i] * normal[i]; }) / n;
  put_lanes(0, s.width, dx, add, [=](Count i) { return (g[i] - sum - normal[i] * with_n) * f; });
}

/// Gradients of rows [first, last); `sums` begin at the first head's.
template <typename T>
void norm_rows_gradient(const Norm& s, const NormView& v, const Wide<T>* statistics, Count first, Count last,
                        const T* dy, T* dx, bool add, WeightSums<Wide<T>> sums) {
  using W = Wide<T>;
  const T *x = static_cast<const T*>(v.x), *w = static_cast<const T*>(v.weight);
  const W more = number<W>(v.offset);
  for (Count r = first; r < last; ++r) {
    const T *from = x + r * v.x_stride, *d = dy + r * s.width;
    const Count ahead = r + 1 < last ? s.width : 0, at = weights_of(s, v, r);
    fetch(from + v.x_stride, ahead);
    fetch(d + s.width, ahead);
    const RowStatistics<W> st =
        statistics != nullptr ? kept_statistics(s, statistics, r) : row_statistics(s, from, v.epsilon);
    const WeightSums<W> mine{sums.weight != nullptr ? sums.weight + at : nullptr,
                             sums.bias != nullptr ? sums.bias + at : nullptr};
    T* const to = dx + r * v.x_stride;
    if (w != nullptr && v.offset != 0)
      norm_row_gradient(s, from, d, st, to, add, mine, [row = w + at, more](Count i) { return wide(row[i]) + more; });
    else if (w != nullptr)
      norm_row_gradient(s, from, d, st, to, add, mine, [row = w + at](Count i) { return wide(row[i]); });
    else
      norm_row_gradient(s, from, d, st, to, add, mine, [](Count) { return W(1); });
  }
}

/// Gradients of all rows. Groups of rows have their own sums, added up in order; the number of groups depends on the
/// rows alone, so that the sums do not depend on the threads.
template <typename T>
void norm_gradient(const Norm& s, const NormView& v, const Wide<T>* statistics, const T* dy, T* dx, bool add,
                   Wide<T>* dw, Wide<T>* db) {
  using W = Wide<T>;
  const Count groups = std::clamp<Count>(s.rows / 32, 1, 16), size = (s.rows + groups - 1) / groups;
  const Count weights = v.heads * s.width;
  Aligned<W> room(static_cast<std::size_t>(dw != nullptr ? 2 * groups * weights : 0), W(0));
  const auto sums_of = [&](Count group) {
    W* const mine = room.data() + 2 * group * weights;
    return WeightSums<W>{dw != nullptr ? mine : nullptr, db != nullptr ? mine + weights : nullptr};
  };
  each<T>(groups, size * s.width, [&](Count group) {
    norm_rows_gradient(s, v, statistics, group * size, std::min(s.rows, (group + 1) * size), dy, dx, add,
                       sums_of(group));
  });
  for (Count group = 0; group < groups; ++group) {
    const WeightSums<W> more = sums_of(group);
    if (dw != nullptr) lanes<T>(0, weights, [=](Count i) { dw[i] += more.weight[i]; });
    if (db != nullptr) lanes<T>(0, weights, [=](Count i) { db[i] += more.bias[i]; });
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
