#pragma once
/// Conversion of rows between memory and tiles: operators compute in rows of wide elements, see tiles.hpp.

#include "model/cpu/aligned.hpp"
#include "model/cpu/parallel.hpp"
#ifdef LLMCALC_TILES_BY_TABLE
#include "model/cpu/row_calls.hpp"
#else
#include "model/cpu/rows.hpp"
#endif

namespace llmcalc::model::LLMCALC_ISA {

/// A row as wide elements: the row itself, or the row converted into `room`, which is resized as needed.
template <typename T>
const Wide<T>* widened(Count n, const T* row, Aligned<Wide<T>>& room) {
  if constexpr (!std::is_same_v<T, Wide<T>>) room.resize(static_cast<std::size_t>(n));
  return widened(n, row, room.data());
}

/// to[i] = f(i) or, if `add`, to[i] += f(i), for i in [first, last).
template <typename T, typename F>
LLMCALC_FLAT void put_lanes(Count first, Count last, T* to, bool add, const F f) {
  Wide<T> buffer[row_block];
  for (Count at = first; at < last; at += row_block) {
    const Count n = std::min(row_block, last - at);
    Wide<T>* result = buffer;
    if constexpr (std::is_same_v<T, Wide<T>>)
      if (!add) result = to + at;
    lanes<T>(0, n, [=](Count i) { result[i] = f(at + i); });
    if (result == buffer) put_row(n, buffer, to + at, add);
  }
}

/// Sets elements [first, last) of y to f of the same elements of x, or adds f to them. f(n, x..., y) works on wide
/// rows.
template <typename T, typename F, typename... X>
void put_rows(Count first, Count last, T* y, bool add, const F& f, const X*... x) {
  if constexpr (std::is_same_v<T, Wide<T>>)
    if (!add) return f(last - first, (x + first)..., y + first);
  Wide<T> result[row_block];
  for (Count at = first; at < last; at += row_block) {
    const Count n = std::min(row_block, last - at);
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      [[maybe_unused]] Wide<T> room[sizeof...(X)][row_block];
      f(n, widened(n, x + at, room[k])..., result);
    }
    (std::index_sequence_for<X...>());
    put_row(n, result, y + at, add);
  }
}

/// y[i] = f(i) for every i below n, on all cores. Prefetches y and `arrays`, which f reads.
template <typename T, typename F, typename... X>
void put_everywhere(Count n, T* y, const F& f, const X*... arrays) {
  fetched_blocks<T>(
      n, [&](Count first, Count last) { put_lanes(first, last, y, false, f); }, arrays..., y);
}
/// Computes y with f(n, x..., y) on wide rows, on all cores. Prefetches all arrays.
template <typename T, typename F, typename... X>
void put_rows_everywhere(Count n, T* y, const F& f, const X*... x) {
  fetched_blocks<T>(
      n, [&](Count first, Count last) { put_rows(first, last, y, false, f, x...); }, x..., y);
}

}  // namespace llmcalc::model::LLMCALC_ISA
