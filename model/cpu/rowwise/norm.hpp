#pragma once
/// LayerNorm (Ba et al. 2016, arXiv:1607.06450) and RMSNorm (Zhang, Sennrich 2019, arXiv:1910.07467), row by row.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename W>
RowStatistics<W> saved_statistics(const Norm& s, const W* saved, Count row) {
  return s.centered ? RowStatistics<W>{saved[2 * row], saved[2 * row + 1]} : RowStatistics<W>{W(0), saved[row]};
}

/// Offset of a row's weights; each head may have separate weights.
inline Count weights_of(const Norm& s, const NormView& v, Count row) { return row % v.heads * s.width; }

/// Wide weights, including NormView::offset, and biases of all heads; null if the norm has none.
template <typename T>
class NormWeights {
  using W = Wide<T>;

 public:
  NormWeights(const Norm& s, const NormView& v)
      : width_(s.width),
        moves_(v.offset != 0),
        offset_(number<W>(v.offset)),
        weight_(wide_row(v.heads * s.width, v.weight, weights_)),
        bias_(wide_row(v.heads * s.width, v.bias, biases_)) {
    if (weight_ == nullptr || !moves_) return;
    moved_.resize(static_cast<std::size_t>(v.heads * s.width));
    if (threaded<T>) move(0, v.heads * s.width);
  }
  NormWeights(const NormWeights&) = delete;
  NormWeights& operator=(const NormWeights&) = delete;

  /// Weights of a head, starting at element `at`. With Counted, they are recomputed for every row, as on a machine
  /// without memory for them.
  const W* weight(Count at) {
    if (weight_ == nullptr || !moves_) return weight_ != nullptr ? weight_ + at : nullptr;
    if (!threaded<T>) move(at, at + width_);
    return moved_.data() + at;
  }
  const W* bias(Count at) const { return bias_ != nullptr ? bias_ + at : nullptr; }

 private:
  static const W* wide_row(Count n, In numbers, Aligned<W>& room) {
    return numbers != nullptr ? widened(n, static_cast<const T*>(numbers), room) : nullptr;
  }
  void move(Count first, Count last) {
    lanes<W>(first, last, [from = weight_, to = moved_.data(), more = offset_](Count i) { to[i] = from[i] + more; });
  }
  Count width_;
  bool moves_;
  W offset_;
  Aligned<W> weights_, biases_, moved_;
  const W *weight_, *bias_;
};

/// This thread's buffer for `rows` wide rows; empty if elements are stored in wide format.
template <typename T>
Wide<T>* converted_rows(Count rows, Count width) {
  thread_local Aligned<Wide<T>> room;
  if constexpr (!std::is_same_v<T, Wide<T>>) room.resize(static_cast<std::size_t>(rows * width));
  return room.data();
}

template <typename T>
void norm(const Norm& s, const NormView& v, T* y, Wide<T>* statistics) {
  using W = Wide<T>;
  NormWeights<T> weights(s, v);
  each<T>(s.rows, s.width, [&](Count r) {
    W* const room = converted_rows<T>(2, s.width);
    const W* const x = widened(s.width, static_cast<const T*>(v.x) + r * v.x_stride, room);
    const RowStatistics<W> st = row_statistics(s, x, v.epsilon);
    const Count o = weights_of(s, v, r);
    T* const to = y + r * s.width;
    if constexpr (std::is_same_v<T, W>) {
      normalize(s.width, x, st, weights.weight(o), weights.bias(o), to);
    } else {
      normalize(s.width, x, st, weights.weight(o), weights.bias(o), room + s.width);
      put_row(s.width, room + s.width, to, false);
    }
    if (statistics == nullptr) return;
    if (s.centered) statistics[2 * r] = st.mean;
    statistics[s.centered ? 2 * r + 1 : r] = st.inverse;
  });
}

/// Gradients of rows [first, last); `sums` start at the first head.
template <typename T>
void norm_rows_gradient(const Norm& s, const NormView& v, NormWeights<T>& weights, const Wide<T>* statistics,
                        Count first, Count last, const T* dy, T* dx, bool add, WeightSums<Wide<T>> sums) {
  using W = Wide<T>;
  W* const room = converted_rows<T>(3, s.width);
  for (Count r = first; r < last; ++r) {
    const T *from = static_cast<const T*>(v.x) + r * v.x_stride, *d = dy + r * s.width;
    const Count ahead = r + 1 < last ? s.width : 0, at = weights_of(s, v, r);
    fetch(from + v.x_stride, ahead);
    fetch(d + s.width, ahead);
    const W *const x = widened(s.width, from, room), *const wide_d = widened(s.width, d, room + s.width);
    const RowStatistics<W> st =
        statistics != nullptr ? saved_statistics(s, statistics, r) : row_statistics(s, x, v.epsilon);
    const WeightSums<W> mine{sums.weight != nullptr ? sums.weight + at : nullptr,
                             sums.bias != nullptr ? sums.bias + at : nullptr};
    T* const to = dx + r * v.x_stride;
    if constexpr (std::is_same_v<T, W>) {
      norm_row_gradient(s, x, wide_d, weights.weight(at), st, to, add, mine);
    } else {
      norm_row_gradient(s, x, wide_d, weights.weight(at), st, room + 2 * s.width, false, mine);
      put_row(s.width, room + 2 * s.width, to, add);
    }
  }
}

/// Gradients of all rows. Sums are formed per group of rows, then added in order. The number of groups depends only on
/// the rows, so the sums do not depend on the number of threads.
template <typename T>
void norm_gradient(const Norm& s, const NormView& v, const Wide<T>* statistics, const T* dy, T* dx, bool add,
                   Wide<T>* dw, Wide<T>* db) {
  using W = Wide<T>;
  const Count groups = std::clamp<Count>(s.rows / 32, 1, 16), size = (s.rows + groups - 1) / groups;
  const Count weights = v.heads * s.width;
  NormWeights<T> own(s, v);
  Aligned<W> room(static_cast<std::size_t>(dw != nullptr ? 2 * groups * weights : 0), W(0));
  const auto sums_of = [&](Count group) {
    W* const mine = room.data() + 2 * group * weights;
    return WeightSums<W>{dw != nullptr ? mine : nullptr, db != nullptr ? mine + weights : nullptr};
  };
  each<T>(groups, size * s.width, [&](Count group) {
    norm_rows_gradient(s, v, own, statistics, group * size, std::min(s.rows, (group + 1) * size), dy, dx, add,
                       sums_of(group));
  });
  for (Count group = 0; group < groups; ++group) {
    const WeightSums<W> more = sums_of(group);
    if (dw != nullptr) add_row(weights, more.weight, dw);
    if (db != nullptr) add_row(weights, more.bias, db);
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
