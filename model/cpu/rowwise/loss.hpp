#pragma once
/// Cross-entropy, in place: wide logits become log-probabilities; logits in other formats need the rows' log-sum-exps,
/// and their gradient is computed in the wide format and rounded once.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/products/narrow.hpp"
#include "model/cpu/sum.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// log sum exp of n elements in one pass: rescales the previous sums if a block has a new maximum (online softmax:
/// Milakov, Gimelshein 2018). `more` elements follow in memory, and are prefetched too.
template <typename X>
Wide<X> log_sum_exp(Count n, const X* x, Count more) {
  using W = Wide<X>;
  OnlineSum<W> sum;
  W room[row_block];
  for (Count at = 0; at < n; at += row_block) {
    const Count here = std::min(row_block, n - at);
    fetch_ahead(at, n + more, x);
    const W* const block = widened(here, x + at, room);
    if (at == 0) sum.most = greatest_of<W>(here, block);
    add_exponentials(here, block, sum);
  }
  return logarithm(n, sum);
}

/// Number of logits in the rows after row r.
inline Count behind(const Loss& s, Count r) { return (s.rows - 1 - r) * s.vocabulary; }

/// Whether a row has a target; a row without one has no loss (Backend::loss).
inline bool has_target(std::int64_t target) { return target >= 0; }

/// The mean over rows with a target; 0 if no row has one.
inline double mean_of(const std::vector<double>& each_row, const std::int64_t* targets) {
  double sum = 0;
  Count rows = 0;
  for (std::size_t r = 0; r < each_row.size(); ++r) {
    if (!has_target(targets[r])) continue;
    sum += each_row[r];
    ++rows;
  }
  return rows > 0 ? sum / static_cast<double>(rows) : 0;
}

template <typename W>
double loss(const Loss& s, const std::int64_t* targets, W* logits) {
  std::vector<double> each_row(static_cast<std::size_t>(s.rows));
  each<W>(s.rows, s.vocabulary * 4, [&](Count r) {
    W* x = logits + r * s.vocabulary;
    const W norm = log_sum_exp(s.vocabulary, x, behind(s, r));
    lanes<W>(0, s.vocabulary, [=](Count i) { x[i] = x[i] - norm; });
    if (has_target(targets[r])) each_row[static_cast<std::size_t>(r)] = -static_cast<double>(x[targets[r]]);
  });
  return mean_of(each_row, targets);
}

template <typename W>
void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, W* logits) {
  each<W>(s.rows, s.vocabulary * 4, [=](Count r) {
    W* x = logits + r * s.vocabulary;
    const W f = number<W>(has_target(targets[r]) ? scale : 0);
    lanes<W>(0, s.vocabulary, [=](Count i) { x[i] = exp_of(x[i]) * f; });
    if (has_target(targets[r])) x[targets[r]] -= f;
  });
}

/// The loss of capped logits, which stay unchanged.
template <typename W>
double capped_loss(const Loss& s, const std::int64_t* targets, const W* logits) {
  std::vector<double> each_row(static_cast<std::size_t>(s.rows));
  each<W>(s.rows, s.vocabulary * 4, [&](Count r) {
    const W* x = logits + r * s.vocabulary;
    const W norm = log_sum_exp(s.vocabulary, x, behind(s, r));
    if (has_target(targets[r])) each_row[static_cast<std::size_t>(r)] = static_cast<double>(norm - x[targets[r]]);
  });
  return mean_of(each_row, targets);
}

/// Propagates the gradient through the cap: d tanh(u) = 1 - tanh(u)^2. Recomputes log_sums if it is null.
template <typename T>
void capped_loss_gradient(const Loss& s, const std::int64_t* targets, double scale, double most, T* logits,
                          const Wide<T>* log_sums) {
  using W = Wide<T>;
  each<T>(s.rows, s.vocabulary * 4, [=](Count r) {
    T* x = logits + r * s.vocabulary;
    const bool known = has_target(targets[r]);
    const W f = number<W>(known ? scale : 0), inverse = number<W>(1 / most), one = number<W>(1);
    const W norm = log_sums != nullptr ? log_sums[r] : log_sum_exp(s.vocabulary, x, behind(s, r));
    const auto slope = [=](W y) { return f * (one - (y * inverse) * (y * inverse)); };
    const W target = known ? wide(x[targets[r]]) : W(0);
    put_lanes(0, s.vocabulary, x, false, [=](Count i) { return exp_of(wide(x[i]) - norm) * slope(wide(x[i])); });
    if (known) x[targets[r]] = static_cast<T>((exp_of(target - norm) - one) * slope(target));
  });
}

template <typename T>
double loss(const Loss& s, const std::int64_t* targets, const T* logits, Wide<T>* log_sums) {
  std::vector<double> each_row(static_cast<std::size_t>(s.rows));
  each<T>(s.rows, s.vocabulary * 4, [&](Count r) {
    const T* x = logits + r * s.vocabulary;
    log_sums[r] = log_sum_exp(s.vocabulary, x, behind(s, r));
    if (has_target(targets[r]))
      each_row[static_cast<std::size_t>(r)] = static_cast<double>(log_sums[r] - wide(x[targets[r]]));
  });
  return mean_of(each_row, targets);
}

template <typename T>
void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, T* logits, const Wide<T>* log_sums) {
  using W = Wide<T>;
  each<T>(s.rows, s.vocabulary * 4, [=](Count r) {
    T* x = logits + r * s.vocabulary;
    const bool known = has_target(targets[r]);
    const W f = number<W>(known ? scale : 0), norm = log_sums[r];
    const T target = known ? static_cast<T>((exp_of(wide(x[targets[r]]) - norm) - number<W>(1)) * f) : T();
    for (Count at = 0; at < s.vocabulary; at += fetched_block) {
      fetch_ahead(at, s.vocabulary + behind(s, r), x);
      const auto gradient = [=](Count n, const W* from, W* to) { exponential_row(n, from, norm, f, to); };
      put_rows(at, std::min(s.vocabulary, at + fetched_block), x, false, gradient, static_cast<const T*>(x));
    }
    if (known) x[targets[r]] = target;
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
