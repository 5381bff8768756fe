#pragma once
/// Stateless random numbers. Each is a function of a key (the seed) and a counter (its index), so any number can be
/// regenerated in any order, by any thread, on CPU and GPU.
///
/// Philox-4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 3.3.

#include <cmath>
#include <cstdint>

#include "model/math/host_device.hpp"

namespace llmcalc::model {

/// 64-bit key: the seed.
struct RandomKey {
  std::uint32_t word[2] = {0, 0};
  constexpr bool operator==(const RandomKey&) const = default;
};

/// 128 bits: the index of a block of four numbers (input), or the block (output).
struct RandomWords {
  std::uint32_t word[4] = {0, 0, 0, 0};
  constexpr bool operator==(const RandomWords&) const = default;
};

LLMCALC_HD constexpr RandomKey random_key(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}};
}

/// Counter of block `index` of stream `stream`. Each use has its own stream, for example the dropout of one operator in
/// one step, or the initial values of one weight.
LLMCALC_HD constexpr RandomWords random_counter(std::uint64_t index, std::uint64_t stream = 0) {
  return {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U),
           static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32U)}};
}

/// One round: two 32x32 -> 64 bit products, with their halves swapped and mixed with the key.
LLMCALC_HD constexpr RandomWords philox_round(RandomWords c, RandomKey k) {
  const std::uint64_t a = std::uint64_t{0xD2511F53U} * c.word[0];
  const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c.word[2];
  return {{static_cast<std::uint32_t>(b >> 32U) ^ c.word[1] ^ k.word[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32U) ^ c.word[3] ^ k.word[1], static_cast<std::uint32_t>(a)}};
}

/// Four independent random 32-bit words: ten rounds, with the key advanced by a Weyl sequence between rounds.
LLMCALC_HD constexpr RandomWords philox(RandomKey key, RandomWords counter) {
  for (int round = 0; round < 10; ++round) {
    counter = philox_round(counter, key);
    key.word[0] += 0x9E3779B9U;  // the golden ratio
    key.word[1] += 0xBB67AE85U;  // sqrt(3) - 1
  }
  return counter;
}

/// The upper 24 bits of a word as a float in [0, 1). Every value is exact, and 1 is never reached.
LLMCALC_HD constexpr float unit_float(std::uint32_t word) { return static_cast<float>(word >> 8U) * 0x1p-24f; }

/// The upper 53 bits of two words as a double in [0, 1).
LLMCALC_HD constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32U) | low) >> 11U) * 0x1p-53;
}

/// A uniform number in [0, 1): the first of the counter's block.
template <typename Real = float>
LLMCALC_HD constexpr Real uniform(RandomKey key, RandomWords counter) {
  const RandomWords r = philox(key, counter);
  if constexpr (sizeof(Real) == sizeof(float))
    return unit_float(r.word[0]);
  else
    return unit_double(r.word[0], r.word[1]);
}

/// Four floats in [0, 1) from one Philox call.
struct UniformBlock {
  float value[4];
};
LLMCALC_HD constexpr UniformBlock uniform_block(RandomKey key, RandomWords counter) {
  const RandomWords r = philox(key, counter);
  return {{unit_float(r.word[0]), unit_float(r.word[1]), unit_float(r.word[2]), unit_float(r.word[3])}};
}

/// Two independent numbers with mean 0 and variance 1: sqrt(-2 ln u) cos(2 pi v) and sqrt(-2 ln u) sin(2 pi v), with u
/// in (0, 1] and v in [0, 1) (Box and Muller 1958). Computed in double, so that differences in the last bits of a
/// library's logarithm rarely reach a float.
struct NormalPair {
  double first = 0, second = 0;
};
LLMCALC_HD inline NormalPair normal_pair(RandomKey key, RandomWords counter) {
  const RandomWords r = philox(key, counter);
  const double u = 1.0 - unit_double(r.word[0], r.word[1]);
  const double angle = 6.283185307179586476925 * unit_double(r.word[2], r.word[3]);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace llmcalc::model
