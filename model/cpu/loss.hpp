#pragma once
/// Cross-entropy on wide logits, in place.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/sum.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// log sum exp of n numbers, the greatest taken out.
template <typename W>
W log_sum_exp(Count n, const W* x) {
  const W most = greatest_of<W>(n, x);
  return most + log_of(sum_of<W>(n, [=](Count i) { return exp_of(x[i] - most); }));
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
  double sum = 0;
  for (const double l : each_row) sum += l;
  return sum / static_cast<double>(s.rows);
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

}  // namespace llmcalc::model::LLMCALC_ISA
