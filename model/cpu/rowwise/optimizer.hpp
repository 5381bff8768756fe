#pragma once
/// Optimizers: one step on n weights.

#include <cmath>
#include <vector>

#include "model/backend.hpp"
#include "model/cpu/products/narrow.hpp"
#include "model/cpu/sum.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Sum of squares, in chunks of fixed size, so that it does not depend on the number of threads.
template <typename W>
double square_sum(Count n, const W* g) {
  constexpr Count size = 8192;
  std::vector<double> part(static_cast<std::size_t>((n + size - 1) / size));
  each<W>(static_cast<Count>(part.size()), size, [&](Count c) {
    const W* mine = g + c * size;
    part[static_cast<std::size_t>(c)] = sum_of_squares(std::min(size, n - c * size), mine);
  });
  double s = 0;
  for (const double p : part) s += p;
  return s;
}

template <typename W>
void multiply_by(Count n, double factor, W* g) {
  const W f = number<W>(factor);
  everywhere<W>(n, [=](Count i) { g[i] = g[i] * f; });
}

/// Runs f on wide rows of n weights and their states, block by block: f(n, g, weights, first, second) changes the last
/// three in place. `master`: wide weights, with a rounded copy in `weight`; null: `weight` is the only copy. M: format
/// of the states, which may be absent.
template <typename T, typename M, typename F>
void step_rows(Count n, const Wide<T>* g, T* weight, Wide<T>* master, M* first, M* second, const F& f) {
  using W = Wide<T>;
  const auto in_place = [](Count size, auto* row, W* room) {
    return row != nullptr ? const_cast<W*>(widened(size, row, room)) : nullptr;
  };
  const auto put_back = [](Count size, const W* from, auto* row) {
    if (row != nullptr && static_cast<const void*>(from) != row) put_row(size, from, row, false);
  };
  const auto after = [](auto* row, Count at) { return row != nullptr ? row + at : nullptr; };
  const auto block = [=](Count at, Count last) {
    W weights[row_block], firsts[row_block], seconds[row_block];
    const Count size = last - at;
    M *const m = after(first, at), *const v = after(second, at);
    W* const stored = master != nullptr ? master + at : in_place(size, weight + at, weights);
    W *const wide_m = in_place(size, m, firsts), *const wide_v = in_place(size, v, seconds);
    f(size, g + at, stored, wide_m, wide_v);
    put_back(size, wide_m, m);
    put_back(size, wide_v, v);
    put_back(size, stored, weight + at);
  };
  first != nullptr ? fetched_blocks<T>(n, block, g, first, weight) : fetched_blocks<T>(n, block, g, weight);
}

/// Applies one AdamW step.
template <typename T, typename M>
void adamw(Count n, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, M* m, M* v) {
  using W = Wide<T>;
  const double step = static_cast<double>(o.step);
  const AdamNumbers<W> numbers{.b1 = number<W>(o.beta1),
                               .b2 = number<W>(o.beta2),
                               .c1 = number<W>(1 - o.beta1),
                               .c2 = number<W>(1 - o.beta2),
                               .epsilon = number<W>(o.epsilon),
                               .rate = number<W>(o.rate),
                               .shrink = number<W>(1 - o.rate * o.decay),
                               .bias1 = number<W>(1 / (1 - std::pow(o.beta1, step))),
                               .bias2 = number<W>(1 / (1 - std::pow(o.beta2, step)))};
  step_rows(n, g, weight, master, m, v, [&](Count size, const W* gradient, W* to, W* first, W* second) {
    adam_row(numbers, size, gradient, to, first, second);
  });
}

template <typename T, typename M>
void sgd(Count n, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, M* velocity, M*) {
  using W = Wide<T>;
  const DescentNumbers<W> numbers{number<W>(o.rate), number<W>(o.momentum), number<W>(1 - o.rate * o.decay)};
  step_rows(
      n, g, weight, master, velocity, static_cast<M*>(nullptr),
      [&](Count size, const W* gradient, W* to, W* first, W*) { descent_row(numbers, size, gradient, to, first); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
