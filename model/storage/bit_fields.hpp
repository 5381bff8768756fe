#pragma once
/// Bit fields of up to 32 bits at any position in memory, lowest bit first.

#include <cstddef>
#include <cstdint>

#include "calc/units.hpp"

namespace llmcalc::model {

inline std::uint32_t read_bits(const std::byte* from, Count at, int n) {
  std::uint64_t word = 0;
  for (Count i = at / 8; i <= (at + n - 1) / 8; ++i)
    word |= static_cast<std::uint64_t>(from[i]) << static_cast<unsigned>(8 * (i - at / 8));
  return static_cast<std::uint32_t>(word >> static_cast<unsigned>(at % 8) &
                                    ((std::uint64_t{1} << static_cast<unsigned>(n)) - 1));
}

inline void write_bits(std::byte* to, Count at, int n, std::uint32_t value) {
  for (int i = 0; i < n; ++i) {
    const auto bit = static_cast<unsigned>((at + i) % 8);
    std::byte& byte = to[(at + i) / 8];
    byte = (byte & ~(std::byte{1} << bit)) | static_cast<std::byte>(value >> static_cast<unsigned>(i) & 1U) << bit;
  }
}

}  // namespace llmcalc::model
