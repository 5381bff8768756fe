#pragma once
/// Number types of the transformer: float, double, bf16 and fp16 (stored in 16 bits, computed in float), and Counted (a
/// double that counts its operations).

#include <bit>
#include <cstdint>

#include "model/math/host_device.hpp"

namespace llmcalc::model {

/// bfloat16 in memory: the upper half of a float, rounded to nearest, ties to even, as on GPUs.
struct bf16 {
  std::uint16_t bits = 0;
  bf16() = default;
  LLMCALC_HD explicit bf16(float f) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t rounded = (u + 0x7fffU + ((u >> 16U) & 1U)) >> 16U;
    bits = static_cast<std::uint16_t>((u & 0x7fffffffU) > 0x7f800000U ? (u >> 16U) | 0x40U : rounded);
  }
  LLMCALC_HD explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
};

/// IEEE 754 half precision in memory: 1 sign, 5 exponent and 10 mantissa bits, rounded to nearest, ties to even. Values
/// below 2^-14 have fewer bits; 65520 and above are infinite. Branch-free, so that loops vectorize.
struct fp16 {
  std::uint16_t bits = 0;
  fp16() = default;
  LLMCALC_HD explicit fp16(float f) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(f), size = u & 0x7fffffffU;
    const std::uint32_t rounded = (size + 0xc8000fffU + ((size >> 13U) & 1U)) >> 13U;  // exponent - 112
    // The sum's last bit is worth 2^-24, the smallest step of half precision: the addition rounds.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3f000000U;
    const std::uint32_t large = size > 0x7f800000U ? 0x7e00U : 0x7c00U;
    const std::uint32_t finite = size < 0x38800000U ? tiny : rounded;
    bits = static_cast<std::uint16_t>((size < 0x47800000U ? finite : large) | (u >> 16U & 0x8000U));
  }
  LLMCALC_HD explicit operator float() const {
    const std::uint32_t u = bits, size = (u & 0x7fffU) << 13U;
    // An exponent of all ones (infinity or NaN) stays all ones; other exponents grow by 112.
    const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p112F);
    return std::bit_cast<float>((size < 0x0f800000U ? scaled : size | 0x7f800000U) | (u & 0x8000U) << 16U);
  }
};

/// Two values as bf16 in one word, the first in the lower half, as tensor cores expect them.
LLMCALC_HD inline unsigned packed(float low, float high) {
#ifdef __CUDA_ARCH__
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return static_cast<unsigned>(bf16(low).bits) | static_cast<unsigned>(bf16(high).bits) << 16U;
#endif
}

/// Counts of executed operations: `multiplies` and `adds` in matmuls and attention, the rest elsewhere.
struct Tally {
  std::int64_t multiplies = 0, adds = 0;
  std::int64_t other_multiplies = 0, other_adds = 0, divides = 0, functions = 0;
  std::int64_t beside() const { return other_multiplies + other_adds + divides + functions; }
};

/// A double that counts its operations. Single-threaded use only.
struct Counted {
  double value = 0;
  static inline Tally tally;
  static inline bool in_product = false;
  Counted() = default;
  explicit Counted(double v) : value(v) {}
  explicit operator double() const { return value; }

  friend Counted operator*(Counted a, Counted b) {
    ++(in_product ? tally.multiplies : tally.other_multiplies);
    return Counted(a.value * b.value);
  }
  friend Counted operator+(Counted a, Counted b) {
    ++(in_product ? tally.adds : tally.other_adds);
    return Counted(a.value + b.value);
  }
  friend Counted operator-(Counted a, Counted b) {
    ++(in_product ? tally.adds : tally.other_adds);
    return Counted(a.value - b.value);
  }
  friend Counted operator/(Counted a, Counted b) {
    ++tally.divides;
    return Counted(a.value / b.value);
  }
  friend Counted operator-(Counted a) { return Counted(-a.value); }
  Counted& operator+=(Counted o) { return *this = *this + o; }
  Counted& operator-=(Counted o) { return *this = *this - o; }
  Counted& operator*=(Counted o) { return *this = *this * o; }
  friend bool operator<(Counted a, Counted b) { return a.value < b.value; }
  friend bool operator>(Counted a, Counted b) { return a.value > b.value; }
};

/// The compute type of T, also the storage type of weight gradients, statistics and logits.
template <typename T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<bf16> {
  using type = float;
};
template <>
struct WideOf<fp16> {
  using type = float;
};
template <typename T>
using Wide = typename WideOf<T>::type;

template <typename T>
LLMCALC_HD Wide<T> wide(T v) {
  return static_cast<Wide<T>>(v);
}

/// A constant of type W.
template <typename W>
LLMCALC_HD W number(double v) {
  return static_cast<W>(v);
}

}  // namespace llmcalc::model
