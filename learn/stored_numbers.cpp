#include "learn/stored_numbers.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace llmcalc::model {
namespace {

/// Converts IEEE 754 binary16 (a sign, 5 exponent bits, 10 fraction bits) to double.
double half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 31U, fraction = bits & 1023U;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double upper_half(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

template <typename Stored, typename F>
void each_number(std::span<const std::byte> from, std::span<double> to, const F& f) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    Stored x;
    std::memcpy(&x, from.data() + i * sizeof x, sizeof x);
    to[i] = f(x);
  }
}

}  // namespace

bool is_stored_number(std::string_view dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "BF16" || dtype == "F16";
}

std::string_view own_dtype(DType format) {
  if (format == dtypes::fp16) return "F16";
  if (format == dtypes::bf16) return "BF16";
  return format == dtypes::fp32 ? "F32" : "F64";
}

void widen(std::string_view dtype, std::span<const std::byte> from, std::span<double> to) {
  if (dtype == "F16") return each_number<std::uint16_t>(from, to, half);
  if (dtype == "BF16") return each_number<std::uint16_t>(from, to, upper_half);
  if (dtype == "F32") return each_number<float>(from, to, [](float x) { return static_cast<double>(x); });
  each_number<double>(from, to, [](double x) { return x; });
}

}  // namespace llmcalc::model
