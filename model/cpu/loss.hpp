#pragma once
/// Cross-entropy, in place: of wide logits by way of log-probabilities; of others with the rows' log-sum-exps beside
/// them, computed in wide numbers and rounded once.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/narrow.hpp"
#include "model/cpu/sum.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// log sum exp of n numbers, the greatest taken out.
template <typename X>
Wide<X> log_sum_exp(Count n, const X* x) {
  using W = Wide<X>;
  const W most = greatest_of<W>(n, x);
  return most + log_of(sum_of<W>(n, [=](Count i) { return exp_of(wide(x[i]) - most); }));
}

inline double mean_of(const std::vector<double>& each_row) {
  double sum = 0;
  for (const double l : each_row) sum += l;
  return sum / static_cast<double>(each_row.size());
}

template <typename W>
double loss(const Loss& s, const std::int64_t* targets, W* logits) {
  std::vector<double> each_row(static_cast<std::size_t>(s.rows));
  each<W>(s.rows, s.vocabulary * 4, [&](Count r) {
    W* x = logits + r * s.vocabulary;
    const W norm = log_sum_exp(s.vocabulary, x);
    lanes<W>(0, s.vocabulary, [=](Count i) { x[i] = x[i] - norm; });
    each_row[static_cast<std::size_t>(r)] = -static_cast<double>(x[targets[r]]);
  });
  return mean_of(each_row);
}

template <typename W>
void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, W* logits) {
  each<W>(s.rows, s.vocabulary * 4, [=](Count r) {
    W* x = logits + r * s.vocabulary;
    const W f = number<W>(scale);
    lanes<W>(0, s.vocabulary, [=](Count i) { x[i] = exp_of(x[i]) * f; });
    x[targets[r]] -= f;
  });
}

template <typename T>
double loss(const Loss& s, const std::int64_t* targets, const T* logits, Wide<T>* log_sums) {
  std::vector<double> each_row(static_cast<std::size_t>(s.rows));
  each<T>(s.rows, s.vocabulary * 4, [&](Count r) {
    const T* x = logits + r * s.vocabulary;
    log_sums[r] = log_sum_exp(s.vocabulary, x);
    each_row[static_cast<std::size_t>(r)] = static_cast<double>(log_sums[r] - wide(x[targets[r]]));
  });
  return mean_of(each_row);
}

template <typename T>
void loss_gradient(const Loss& s, const std::int64_t* targets, double scale, T* logits, const Wide<T>* log_sums) {
  using W = Wide<T>;
  each<T>(s.rows, s.vocabulary * 4, [=](Count r) {
    T* x = logits + r * s.vocabulary;
    const W f = number<W>(scale), norm = log_sums[r];
    const T target = static_cast<T>((exp_of(wide(x[targets[r]]) - norm) - number<W>(1)) * f);
    put_lanes(0, s.vocabulary, x, false, [=](Count i) { return exp_of(wide(x[i]) - norm) * f; });
    x[targets[r]] = target;
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
