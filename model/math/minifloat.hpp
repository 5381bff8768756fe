#pragma once
/// Floating-point formats of at most 8 bits without infinities: larger values saturate.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace llmcalc::model {

/// A sign bit, `exponent` and `mantissa` bits. Exponent field e > 0 means 2^(e - bias); field 0 holds denormals.
struct Minifloat {
  int exponent, mantissa, bias;
  float largest;

  constexpr int bits() const { return 1 + exponent + mantissa; }

  float value(std::uint32_t code) const {
    const auto field =
        static_cast<int>(code >> static_cast<unsigned>(mantissa) & ((1U << static_cast<unsigned>(exponent)) - 1));
    const auto fraction = static_cast<float>(code & ((1U << static_cast<unsigned>(mantissa)) - 1));
    const float one = field > 0 ? std::ldexp(1.0F, mantissa) : 0;
    const float size = std::ldexp(one + fraction, std::max(field, 1) - bias - mantissa);
    return (code >> static_cast<unsigned>(exponent + mantissa) & 1U) != 0 ? -size : size;
  }
  /// Code of the nearest value, ties to even.
  std::uint32_t code(float x) const {
    const float size = std::min(std::fabs(x), largest);
    const int power = std::max(size > 0 ? std::ilogb(size) : 1 - bias, 1 - bias);
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, mantissa - power)));
    // Steps start at 0 for the lowest power and at 2^mantissa for others. Rounding up to the next power carries into
    // the exponent.
    const auto below = static_cast<std::uint32_t>(power - 1 + bias) << static_cast<unsigned>(mantissa);
    return (below + steps) | static_cast<std::uint32_t>(std::signbit(x)) << static_cast<unsigned>(exponent + mantissa);
  }
};

inline constexpr Minifloat e4m3{4, 3, 7, 448};  ///< OCP FP8 (arXiv:2209.05433)
inline constexpr Minifloat e3m2{3, 2, 3, 28};   ///< OCP MX v1.0, like e2m1
inline constexpr Minifloat e2m1{2, 1, 1, 6};

}  // namespace llmcalc::model
