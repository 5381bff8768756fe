#pragma once
/// Loops over rows on all cores, and the instruction set of this copy of the kernels. Every file that includes the
/// kernels is compiled once per instruction set, in a separate namespace.

#include <algorithm>
#include <type_traits>

#include "calc/units.hpp"
#include "model/cpu/workers.hpp"
#include "model/math/numbers.hpp"

#ifndef LLMCALC_ISA
#define LLMCALC_ISA portable
#endif

/// Inlining: a call inside a loop prevents vectorization. Short loops and their callees are inlined in place; a long
/// loop is a function into which all its callees are inlined.
#define LLMCALC_INLINE [[gnu::always_inline]] inline
#define LLMCALC_FLAT [[gnu::noinline, gnu::flatten]]

namespace llmcalc::model::LLMCALC_ISA {

/// Whether several threads may work on elements of this type.
template <typename T>
inline constexpr bool threaded = true;
template <>
inline constexpr bool threaded<Counted> = false;

/// The built-in type that W is constructed from.
template <typename W>
using Plain = std::conditional_t<std::is_same_v<W, float>, float, double>;

/// Calls f(i) for every i below n, in any order. `work`: number of elements processed per i. Small loops run on one
/// thread.
template <typename T, typename F>
void each(Count n, [[maybe_unused]] Count work, const F& f) {
  share_out(n, threaded<T> && n > 1 && n * work > 16384, f);
}

/// Calls f(first, last) for chunks of n elements; each thread runs one or more chunks.
template <typename T, typename F>
void chunks(Count n, const F& f) {
  constexpr Count size = 8192;
  each<T>((n + size - 1) / size, size, [&](Count i) { f(i * size, std::min(n, (i + 1) * size)); });
}

/// Calls f(first, last) for one stripe of columns per thread, so that sums over rows keep their order.
template <typename T, typename F>
void stripes(Count columns, Count rows, const F& f) {
  constexpr Count line = 64;
  const Count size = ((columns + threads() - 1) / threads() + line - 1) / line * line;
  each<T>((columns + size - 1) / size, size * rows, [&](Count i) { f(i * size, std::min(columns, (i + 1) * size)); });
}

/// Calls f(i) for every i in [first, last), vectorized: f(i) must not touch data of another i.
template <typename T, typename F>
LLMCALC_INLINE void lanes(Count first, Count last, const F& f) {
  if constexpr (threaded<T>) {
#pragma omp simd
    for (Count i = first; i < last; ++i) f(i);
  } else {
    for (Count i = first; i < last; ++i) f(i);
  }
}

template <typename T, typename F>
LLMCALC_FLAT void long_lanes(Count first, Count last, const F f) {
  lanes<T>(first, last, f);
}

/// Prefetches n elements starting at p. Always inlined: GCC treats a function that only prefetches as free of side
/// effects, and drops calls to it.
template <typename X>
LLMCALC_INLINE void fetch(const X* p, Count n) {
  for (Count i = 0; i < n; i += 64 / static_cast<Count>(sizeof(X))) __builtin_prefetch(p + i, 0, 2);
}

/// Number of elements per prefetched block.
constexpr Count fetched_block = 128;

/// Prefetches one block of every array, 8 blocks after element `at` of n. It fetches only a few lines at a time,
/// because a burst of prefetches would stall, and farther ahead than the hardware prefetcher does in compute-heavy
/// loops.
template <typename... X>
LLMCALC_INLINE void fetch_ahead(Count at, Count n, const X*... arrays) {
  constexpr Count ahead = 8 * fetched_block;
  (fetch(arrays + at + ahead, std::min(n - at - ahead, fetched_block)), ...);
}

/// Calls f(first, last) for all n elements in short blocks, on all cores. Prefetches `arrays`, which f reads and
/// writes.
template <typename T, typename F, typename... X>
void fetched_blocks(Count n, const F& f, const X*... arrays) {
  chunks<T>(n, [&](Count first, Count last) {
    for (Count at = first; at < last; at += fetched_block) {
      fetch_ahead(at, n, arrays...);
      f(at, std::min(last, at + fetched_block));
    }
  });
}

/// Calls f(i) for every i below n, vectorized, on all cores.
template <typename T, typename F, typename... X>
void everywhere(Count n, const F& f, const X*... arrays) {
  fetched_blocks<T>(
      n, [&](Count first, Count last) { long_lanes<T>(first, last, f); }, arrays...);
}

}  // namespace llmcalc::model::LLMCALC_ISA
