#pragma once
/// Optimizers: one step on n weights.

#include <cmath>
#include <vector>

#include "model/backend.hpp"
#include "model/cpu/sum.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Sum of squares, in chunks of fixed size, so that it does not depend on the threads.
template <typename W>
double square_sum(Count n, const W* g) {
  constexpr Count size = 8192;
  std::vector<double> part(static_cast<std::size_t>((n + size - 1) / size));
  each<W>(static_cast<Count>(part.size()), size, [&](Count c) {
    const W* mine = g + c * size;
    part[static_cast<std::size_t>(c)] = sum_of<double>(std::min(size, n - c * size), [=](Count i) {
      const double x = static_cast<double>(mine[i]);
      return x * x;
    });
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

template <typename W, typename T>
void store(W from, T* to) {
  *to = static_cast<T>(from);
}

/// AdamW (Loshchilov, Hutter 2017, arXiv:1711.05101) with bias correction. `master`: wide weights of which `weight`
/// holds the rounded copy; absent: `weight` itself. M: of the moments.
template <typename T, typename M>
void adamw(Count n, const AdamW& o, const Wide<T>* g, T* weight, Wide<T>* master, M* m, M* v) {
  using W = Wide<T>;
  const double step = static_cast<double>(o.step);
  const W b1 = number<W>(o.beta1), b2 = number<W>(o.beta2), epsilon = number<W>(o.epsilon);
  const W c1 = number<W>(1 - o.beta1), c2 = number<W>(1 - o.beta2);
  const W rate = number<W>(o.rate), shrink = number<W>(1 - o.rate * o.decay);
  const W bias1 = number<W>(1 / (1 - std::pow(o.beta1, step))), bias2 = number<W>(1 / (1 - std::pow(o.beta2, step)));
  const auto step_from = [&](auto* stored) {
    everywhere<T>(n, [=](Count i) {
      const W first = b1 * wide(m[i]) + c1 * g[i], second = b2 * wide(v[i]) + c2 * g[i] * g[i];
      const W next = wide(stored[i]) * shrink - rate * (first * bias1) / (sqrt_of(second * bias2) + epsilon);
      store(first, m + i);
      store(second, v + i);
      store(next, stored + i);
      store(next, weight + i);
    });
  };
  master != nullptr ? step_from(master) : step_from(weight);
}

/// velocity = momentum velocity + g; w -= rate velocity. Without a velocity: plain gradient descent.
template <typename T, typename M>
void sgd(Count n, const Momentum& o, const Wide<T>* g, T* weight, Wide<T>* master, M* velocity) {
  using W = Wide<T>;
  const W rate = number<W>(o.rate), keep = number<W>(o.momentum), shrink = number<W>(1 - o.rate * o.decay);
  const auto step_from = [&](auto* stored) {
    if (velocity == nullptr)
      everywhere<T>(n, [=](Count i) {
        const W next = wide(stored[i]) * shrink - rate * g[i];
        store(next, stored + i);
        store(next, weight + i);
      });
    else
      everywhere<T>(n, [=](Count i) {
        const W faster = keep * wide(velocity[i]) + g[i];
        const W next = wide(stored[i]) * shrink - rate * faster;
        store(faster, velocity + i);
        store(next, stored + i);
        store(next, weight + i);
      });
  };
  master != nullptr ? step_from(master) : step_from(weight);
}

}  // namespace llmcalc::model::LLMCALC_ISA
