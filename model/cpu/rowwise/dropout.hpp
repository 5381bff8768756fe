#pragma once
/// Replayable dropout (Srivastava et al. 2014): kept elements are divided by 1 - p. The mask of element i depends only
/// on its counter, so recomputation and flash attention's backward use the same mask.

#include <cmath>

#include "model/backend.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Calls f(offset, count, factors) for the mask of elements [first, first + n), block by block.
template <typename W, typename F>
void each_block(const Dropout& d, Count first, Count n, const F& f) {
  W block[dice];
  for (Count at = first / dice * dice; at < first + n; at += dice) {
    throw_dice(d, at, block);
    const Count low = std::max(first, at), high = std::min(first + n, at + dice);
    f(low - first, high - low, block + (low - at));
  }
}

template <typename W>
void throw_dice(const Dropout& d, Count first, Count n, W* factor) {
  each_block<W>(d, first, n, [=](Count at, Count size, const W* block) { std::copy_n(block, size, factor + at); });
}

/// Multiplies x by the dropout factors of elements [first, first + n).
template <typename W>
void multiply_by_dice(const Dropout& d, Count first, Count n, W* x) {
  each_block<W>(d, first, n, [=](Count at, Count size, const W* block) {
    lanes<W>(0, size, [=](Count i) { x[at + i] = x[at + i] * block[i]; });
  });
}

template <typename T>
void dropout(Count n, const Dropout& d, T* x, std::uint8_t* mask) {
  using W = Wide<T>;
  const auto block = [=, &d](Count first, Count last) {
    W factor[dice];
    for (Count at = first; at < last; at += dice) {
      throw_dice(d, at, factor);
      const Count size = std::min(dice, last - at);
      put_rows(0, size, x + at, false, multiply_rows<W>, x + at, static_cast<const W*>(factor));
      if (mask != nullptr) lanes<T>(0, size, [=, &factor](Count i) { mask[at + i] = factor[i] > W(0); });
    }
  };
  if (mask != nullptr) return fetched_blocks<T>(n, block, x, mask);
  fetched_blocks<T>(n, block, x);
}
template <typename T>
void dropout_gradient(Count n, const Dropout& d, const std::uint8_t* mask, T* dx) {
  using W = Wide<T>;
  const W keep = number<W>(1 / (1 - d.p));
  const auto block = [=](Count first, Count last) {
    W factor[row_block];
    lanes<W>(0, last - first, [&](Count i) { factor[i] = W(static_cast<Plain<W>>(mask[first + i])); });
    const auto keep_some = [=](Count size, const W* from, const W* stays, W* to) {
      lanes<W>(0, size, [=](Count i) { to[i] = from[i] * keep * stays[i]; });
    };
    put_rows(0, last - first, dx + first, false, keep_some, dx + first, static_cast<const W*>(factor));
  };
  fetched_blocks<T>(n, block, mask, dx);
}

}  // namespace llmcalc::model::LLMCALC_ISA
