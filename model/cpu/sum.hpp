#pragma once
/// Vectorized reductions: the order of additions depends only on the instruction set. Reductions of Counted are serial.

#include <cstdint>
#include <limits>

#include "model/cpu/parallel.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The sum of f(i) for i below n.
template <typename W, typename F>
LLMCALC_INLINE W sum_of(Count n, const F& f) {
  W s(0);
  if constexpr (threaded<W>) {
#pragma omp simd reduction(+ : s)
    for (Count i = 0; i < n; ++i) s += f(i);
  } else {
    for (Count i = 0; i < n; ++i) s += f(i);
  }
  return s;
}

/// The maximum of n elements, n > 0. A NaN may be skipped, because later sums expose it.
template <typename W, typename X>
LLMCALC_INLINE W greatest_of(Count n, const X* x) {
  W most = wide(x[0]);
  if constexpr (threaded<W>) {
#pragma omp simd reduction(max : most)
    for (Count i = 0; i < n; ++i) most = wide(x[i]) > most ? wide(x[i]) : most;
  } else {
    for (Count i = 1; i < n; ++i) most = wide(x[i]) > most ? wide(x[i]) : most;
  }
  return most;
}

/// The maximum of n 16-bit floats. It is found by comparing their bits as signed integers, which have the same order
/// except that negative values are reversed.
template <typename W, typename X>
requires(sizeof(X) == 2) LLMCALC_INLINE W greatest_of(Count n, const X* x) {
  const auto ordered = [](std::int16_t bits) { return static_cast<std::int16_t>(bits ^ ((bits >> 15) & 0x7fff)); };
  std::int16_t most = std::numeric_limits<std::int16_t>::min();
#pragma omp simd reduction(max : most)
  for (Count i = 0; i < n; ++i) {
    const std::int16_t next = ordered(static_cast<std::int16_t>(x[i].bits));
    most = next > most ? next : most;
  }
  X greatest;
  greatest.bits = static_cast<std::uint16_t>(ordered(most));
  return wide(greatest);
}

/// Replaces every x by exp(x - most). Returns the sum.
template <typename W>
LLMCALC_INLINE W exponentials(Count n, W most, W* x) {
  return sum_of<W>(n, [=](Count i) { return x[i] = exp_of(x[i] - most); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
