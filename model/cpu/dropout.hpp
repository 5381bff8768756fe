#pragma once
/// Replayable dropout (Srivastava et al. 2014): kept numbers are divided by 1 - p. The mask of number i depends on its
/// counter alone, so that recomputation and flash attention's backward use the same mask.

#include <cmath>

#include "model/backend.hpp"
#include "model/cpu/narrow.hpp"
#include "model/cpu/philox.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Mask numbers drawn at once: 16 blocks of four words.
inline constexpr Count dice = 4 * philox_blocks;

/// The least word w with unit_float(w) >= p: unit_float drops the last 8 bits.
inline std::uint32_t first_that_stays(double p) {
  return static_cast<std::uint32_t>(std::ceil(static_cast<double>(static_cast<float>(p)) * (1 << 24))) << 8U;
}

/// Dropout factors of numbers [first, first + dice): 1/(1 - p), or 0 if dropped; first: a multiple of dice.
template <typename W>
void throw_dice(const Dropout& d, Count first, W* factor) {
  const std::uint32_t least = first_that_stays(d.p);
  const W keep = number<W>(1 / (1 - d.p));
  std::uint32_t words[dice];
  philox_words(random_key(d.key), static_cast<std::uint64_t>(first) / 4, words);
  lanes<W>(0, dice, [&](Count i) { factor[i] = words[i] >= least ? keep : W(0); });
}

/// Calls f(offset, count, factors) for the mask of numbers [first, first + n), block by block.
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

/// Multiplies x by the dropout factors of numbers [first, first + n).
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
      put_lanes(0, size, x + at, false, [=, &factor](Count i) { return wide(x[at + i]) * factor[i]; });
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
  put_everywhere<T>(
      n, dx, [=](Count i) { return wide(dx[i]) * keep * W(static_cast<Plain<W>>(mask[i])); }, mask);
}

}  // namespace llmcalc::model::LLMCALC_ISA
