#pragma once
/// What a step does to n weights.

#include <cmath>
#include <vector>

#include "model/backend.hpp"
#include "model/cpu/parallel.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Sum of squares, in chunks of fixed size, so that the threads do not change it.
template <typename W>
double square_sum(Count n, const W* g) {
  constexpr Count size = 8192;
  std::vector<double> part(static_cast<std::size_t>((n + size - 1) / size));
  each<W>(static_cast<Count>(part.size()), size, [&](Count c) {
    double s = 0;
    for (Count i = c * size; i < std::min(n, (c + 1) * size); ++i)
      s += static_cast<double>(g[i]) * static_cast<double>(g[i]);
    part[static_cast<std::size_t>(c)] = s;
  });
  double s = 0;
  for (const double p : part) s += p;
  return s;
}

template <typename W>
void multiply_by(Count n, double factor, W* g) {
  const W f = number<W>(factor);
  chunks<W>(n, [=](Count i, Count end) {
    for (; i < end; ++i) g[i] = g[i] * f;
  });
}

/// AdamW (Loshchilov, Hutter 2017, arXiv:1711.05101) with bias correction. `master`: wide weights of which `weight`
/// holds the rounded copy; absent: `weight` itself.
template <typename T>
void adamw(Count n, const AdamW& o, const Wide<T>* g, T* weight, Wide<T>* master, Wide<T>* m, Wide<T>* v) {
  using W = Wide<T>;
  const double step = static_cast<double>(o.step);
  const W b1 = number<W>(o.beta1), b2 = number<W>(o.beta2), epsilon = number<W>(o.epsilon);
  const W c1 = number<W>(1 - o.beta1), c2 = number<W>(1 - o.beta2);
  const W rate = number<W>(o.rate), shrink = number<W>(1 - o.rate * o.decay);
  const W bias1 = number<W>(1 / (1 - std::pow(o.beta1, step))), bias2 = number<W>(1 / (1 - std::pow(o.beta2, step)));
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) {
      m[i] = b1 * m[i] + c1 * g[i];
      v[i] = b2 * v[i] + c2 * g[i] * g[i];
      const W w = master != nullptr ? master[i] : wide(weight[i]);
      const W next = w * shrink - rate * (m[i] * bias1) / (sqrt_of(v[i] * bias2) + epsilon);
      if (master != nullptr) master[i] = next;
      weight[i] = static_cast<T>(next);
    }
  });
}

/// velocity = momentum velocity + g; w -= rate velocity. Without a velocity: plain gradient descent.
template <typename T>
void sgd(Count n, const Momentum& o, const Wide<T>* g, T* weight, Wide<T>* master, Wide<T>* velocity) {
  using W = Wide<T>;
  const W rate = number<W>(o.rate), keep = number<W>(o.momentum), shrink = number<W>(1 - o.rate * o.decay);
  chunks<T>(n, [=](Count i, Count end) {
    for (; i < end; ++i) {
      const W d = velocity != nullptr ? keep * velocity[i] + g[i] : g[i];
      if (velocity != nullptr) velocity[i] = d;
      const W w = master != nullptr ? master[i] : wide(weight[i]);
      const W next = w * shrink - rate * d;
      if (master != nullptr) master[i] = next;
      weight[i] = static_cast<T>(next);
    }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
