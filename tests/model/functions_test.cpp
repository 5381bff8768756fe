// Compares the kernels' exp, normal distribution, 1/x, cos and sin with the library's in double.

#include "model/math/functions.hpp"

#include <limits>

#include "model/math/activation.hpp"
#include "tests/catch.hpp"

using namespace llmcalc::model;

namespace {

/// Calls f(x) for every 997th float, except infinities and NaN.
template <typename F>
void some_floats(F f) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += 997) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(x)) f(x);
  }
}

/// Error in units in the last place of the exact value, rounded to float.
double ulps(float value, double exact) {
  const float rounded = static_cast<float>(std::fabs(exact));
  const float next = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  return std::fabs(static_cast<double>(value) - exact) / (static_cast<double>(next) - static_cast<double>(rounded));
}

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float unbounded = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("exp in float is accurate to 1.2 ulp", "[functions]") {
  double worst = 0, worst_above = 0;
  some_floats([&](float x) {
    const double exact = std::exp(static_cast<double>(x));
    if (x > -87.3f && x < 88.37f) worst = std::max(worst, ulps(exp_of(x), exact));
    if (x >= 88.37f && x < 88.722f) worst_above = std::max(worst_above, ulps(exp_of(x), exact));
    if (x < -87.69f) CHECK_FALSE(exp_of(x) != 0);
    if (x > 88.723f) CHECK_FALSE(exp_of(x) != unbounded);
  });
  CHECK(worst < 1.2);
  CHECK(worst_above < 6);
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(exp_of(-88.0f) == 0.0f);
  CHECK(exp_of(-unbounded) == 0.0f);
  CHECK(exp_of(unbounded) == unbounded);
  CHECK(std::isnan(exp_of(no_number)));
  CHECK(std::isnan(exp_of(-no_number)));
}

TEST_CASE("the normal CDF in float is accurate to 5e-7, and its exponential to 2e-7", "[functions]") {
  double worst = 0, worst_exponential = 0;
  some_floats([&](float x) {
    const Normal<double> exact = normal_of(static_cast<double>(x));
    const auto [below, exponential] = normal_of(x);
    worst = std::max(worst, std::fabs(static_cast<double>(below) - exact.below));
    worst_exponential = std::max(worst_exponential, std::fabs(static_cast<double>(exponential) - exact.exponential));
  });
  CHECK(worst < 5e-7);
  CHECK(worst_exponential < 2e-7);
  CHECK(normal_of(unbounded).below == 1.0f);
  CHECK(normal_of(-unbounded).below == 0.0f);
  CHECK(normal_of(0.0).below == 0.5);
  CHECK(normal_of(1.0).below == Approx(0.841344746068543));  // from tables
  CHECK(std::isnan(normal_of(no_number).below));
}

TEST_CASE("a reciprocal without division is accurate to 2 ulp", "[functions]") {
  double worst = 0;
  some_floats([&](float x) {
    if (x >= 1 && x <= 1e37f) worst = std::max(worst, ulps(reciprocal_of(x), 1 / static_cast<double>(x)));
  });
  CHECK(worst < 2);
  CHECK(reciprocal_of(unbounded) < 2e-37f);
  CHECK(std::isnan(reciprocal_of(no_number)));
}

TEST_CASE("cos and sin of angles up to a million are accurate to 1e-15", "[functions]") {
  double worst = 0;
  for (int i = -1000000; i < 1000000; ++i) {
    const double x = i * 0.99999 + i % 7 * 0.1;
    const CosSin t = cos_sin(x);
    worst = std::max({worst, std::fabs(t.cosine - std::cos(x)), std::fabs(t.sine - std::sin(x))});
  }
  CHECK(worst < 1e-15);
  CHECK(cos_sin(0).cosine == 1);
  CHECK(cos_sin(0).sine == 0);
}

TEST_CASE("GELU computed with the logistic function equals GELU computed with tanh", "[functions]") {
  for (double x = -6; x < 6; x += 0.01) {
    const double t = std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x));
    CHECK(GeluTanh::value(x) == Approx(0.5 * x * (1 + t)).margin(1e-14));
  }
}

TEST_CASE("the logistic function is accurate to 4 ulp, and near 0 for large negative arguments", "[functions]") {
  double worst = 0;
  some_floats([&](float x) {
    const double exact = 1 / (1 + std::exp(-static_cast<double>(x)));
    if (x > -80) worst = std::max(worst, ulps(sigmoid(x), exact));
  });
  CHECK(worst < 4);
  CHECK(sigmoid(-1000.0f) < 1e-35f);
  CHECK(sigmoid(-unbounded) >= 0.0f);
  CHECK(sigmoid(unbounded) == 1.0f);
  CHECK(std::isnan(sigmoid(no_number)));
}

TEST_CASE("bfloat16 rounds to nearest, ties to even, and preserves NaN", "[functions]") {
  CHECK(bf16(1.0f).bits == 0x3f80);
  CHECK(bf16(std::bit_cast<float>(0x3f808000U)).bits == 0x3f80);  // a tie: down to even
  CHECK(bf16(std::bit_cast<float>(0x3f818000U)).bits == 0x3f82);  // a tie: up to even
  CHECK(bf16(std::bit_cast<float>(0x3f808001U)).bits == 0x3f81);
  CHECK(bf16(unbounded).bits == 0x7f80);
  CHECK(std::isnan(wide(bf16(no_number))));
  CHECK(std::isnan(wide(bf16(std::bit_cast<float>(0x7f800001U)))));
}

namespace {

/// Bits of the nearest half-precision value, ties to even, computed in double.
std::uint16_t half_of(float x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(x));
  if (std::isinf(x) || size >= 65520) return sign | 0x7c00;
  // Neighbors differ by 2^-10 of their power of two, or by 2^-24 below 2^-14; nearbyint rounds ties to even.
  const int power = std::max(size > 0 ? std::ilogb(size) : -14, -14);
  const double steps = std::nearbyint(std::ldexp(size, 10 - power));
  return static_cast<std::uint16_t>(sign + ((power + 14) << 10) + static_cast<int>(steps));
}

}  // namespace

TEST_CASE("float16 rounds to nearest, ties to even, including subnormals, overflow and NaN", "[functions]") {
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < 0x10000U; ++i) {
    fp16 half;
    half.bits = static_cast<std::uint16_t>(i);
    const float x = wide(half);
    wrong += std::isnan(x) ? (i & 0x7c00U) != 0x7c00U || !std::isnan(wide(fp16(x))) : fp16(x).bits != half.bits;
  }
  CHECK(wrong == 0);
  std::size_t tried = 0;
  some_floats([&](float x) {
    wrong += fp16(x).bits != half_of(x);
    ++tried;
  });
  for (float x = 1e-9F; x < 1e6F; x *= 1.0001F) wrong += fp16(x).bits != half_of(x) || fp16(-x).bits != half_of(-x);
  CHECK(tried > 1000);
  CHECK(wrong == 0);
  CHECK(fp16(1.0f).bits == 0x3c00);
  CHECK(fp16(65504.0f).bits == 0x7bff);
  CHECK(fp16(65519.996f).bits == 0x7bff);
  CHECK(fp16(65520.0f).bits == 0x7c00);
  CHECK(fp16(0x1p-24f).bits == 1);
  CHECK(fp16(0x1p-25f).bits == 0);  // a tie: down to even
  CHECK(fp16(0x3p-25f).bits == 2);  // a tie: up to even
  CHECK(fp16(-unbounded).bits == 0xfc00);
  CHECK(std::isnan(wide(fp16(no_number))));
  CHECK(std::isnan(wide(fp16(std::bit_cast<float>(0x7f800001U)))));
}
