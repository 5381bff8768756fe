#pragma once
/// Loops over rows on all cores (OpenMP where it is found), and which instruction set this copy of the kernels is
/// compiled for: every file that includes them is compiled once per set, in a namespace of its own.

#include <algorithm>

#include "calc/units.hpp"
#include "model/math/numbers.hpp"

#ifndef LLMCALC_ISA
#define LLMCALC_ISA portable
#endif

namespace llmcalc::model::LLMCALC_ISA {

/// May numbers of this type be worked on by several threads at once?
template <typename T>
inline constexpr bool threaded = true;
template <>
inline constexpr bool threaded<Counted> = false;

/// f(i) for every i below n, in any order. `work`: numbers touched per i; little work is not worth a second thread.
template <typename T, typename F>
void each(Count n, [[maybe_unused]] Count work, const F& f) {
  if constexpr (threaded<T>) {
#pragma omp parallel for schedule(static) if (n > 1 && n * work > 16384)
    for (Count i = 0; i < n; ++i) f(i);
  } else {
    for (Count i = 0; i < n; ++i) f(i);
  }
}

/// f(first, last) for chunks of n numbers, one per thread or more.
template <typename T, typename F>
void chunks(Count n, const F& f) {
  constexpr Count size = 8192;
  each<T>((n + size - 1) / size, size, [&](Count i) { f(i * size, std::min(n, (i + 1) * size)); });
}

}  // namespace llmcalc::model::LLMCALC_ISA
