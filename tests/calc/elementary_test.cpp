// Elementary functions: accuracy, limits, and the same bits in every build.

#include "calc/elementary.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Error of a result in units in the last place of the exact value.
double error_in_units(double result, long double exact) {
  const double nearest = std::fabs(static_cast<double>(exact));
  return std::fabs(static_cast<double>((result - exact) / (std::nextafter(nearest, infinity) - nearest)));
}

/// The largest error of a function at 20,000 points of [from, to].
double largest_error(double (*f)(double), long double (*exact)(long double), double from, double to) {
  double largest = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double x = from + (to - from) * (i + 0.37) / 20'000;
    largest = std::max(largest, error_in_units(f(x), exact(x)));
  }
  return largest;
}

/// A digest of results, bit by bit (FNV-1a).
class Digest {
 public:
  void add(double x) { value_ = (value_ ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

TEST_CASE("elementary functions are accurate to one unit in the last place", "[elementary]") {
  CHECK(largest_error(elementary::exp, std::exp, -700, 700) < 0.7);
  CHECK(largest_error(elementary::exp, std::exp, -1, 1) < 0.7);
  CHECK(largest_error(elementary::expm1, std::expm1, -40, 40) < 1);
  CHECK(largest_error(elementary::expm1, std::expm1, -0.5, 0.5) < 1);
  CHECK(largest_error(elementary::log, std::log, 1e-300, 1e-299) < 0.51);
  CHECK(largest_error(elementary::log, std::log, 0.5, 2) < 0.51);
  CHECK(largest_error(elementary::log, std::log, 2, 1e9) < 0.51);
  CHECK(largest_error(elementary::log1p, std::log1p, -0.999, 1) < 0.51);
  CHECK(largest_error(elementary::log1p, std::log1p, -1e-9, 1e-9) < 0.51);
  CHECK(largest_error(elementary::log2, std::log2, 0.1, 1e5) < 0.51);
  CHECK(largest_error(elementary::log10, std::log10, 0.1, 1e5) < 0.51);
}

TEST_CASE("powers are accurate to one unit in the last place, and exact if the result is representable",
          "[elementary]") {
  double largest = 0;
  for (int i = 1; i < 200; ++i)
    for (int k = -150; k <= 150; ++k) {
      const double x = 0.013 * i * i, y = 0.217 * k;
      largest = std::max(largest, error_in_units(elementary::pow(x, y), std::pow(static_cast<long double>(x), y)));
    }
  CHECK(largest < 0.7);
  for (int n = 0; n <= 22; ++n) {
    CHECK(elementary::pow(10, n) == std::stod("1e" + std::to_string(n)));
    CHECK(elementary::log10(elementary::pow(10, n)) == n);
  }
  for (int n = -1074; n <= 1023; ++n) {
    CHECK(elementary::pow(2, n) == std::ldexp(1.0, n));
    CHECK(elementary::log2(std::ldexp(1.0, n)) == n);
  }
  CHECK(elementary::pow(-3, 3) == -27);
  CHECK(elementary::pow(-3, 4) == 81);
}

TEST_CASE("the complementary error function has a relative error below 1e-13", "[elementary]") {
  for (double x = -6; x < 8; x += 0.01)
    CHECK(elementary::erfc(x) == Approx(static_cast<double>(std::erfc(static_cast<long double>(x)))).epsilon(1e-13));
}

TEST_CASE("elementary functions return the C standard's special values", "[elementary]") {
  CHECK(elementary::exp(-infinity) == 0);
  CHECK(elementary::exp(800) == infinity);
  CHECK(elementary::expm1(-infinity) == -1);
  CHECK(elementary::log(0) == -infinity);
  CHECK(std::isnan(elementary::log(-1)));
  CHECK(elementary::log(infinity) == infinity);
  CHECK(elementary::log1p(-1) == -infinity);
  CHECK(elementary::pow(0, 0) == 1);
  CHECK(elementary::pow(0, 2) == 0);
  CHECK(elementary::pow(0, -2) == infinity);
  CHECK(std::isnan(elementary::pow(-1, 0.5)));
  CHECK(elementary::pow(0.5, infinity) == 0);
  CHECK(elementary::erfc(infinity) == 0);
  CHECK(elementary::erfc(-infinity) == 2);
}

// g++ and clang++ without and with optimization, with and without AVX-512, give this digest; fused multiply-add does
// not.
TEST_CASE("elementary functions give the same bits in every build", "[elementary]") {
  Digest digest;
  for (int i = 1; i <= 10'000; ++i) {
    const double x = i * 0.0137;
    for (double (*f)(double) : {elementary::exp, elementary::expm1, elementary::log, elementary::log1p,
                                elementary::log2, elementary::log10, elementary::erfc})
      digest.add(f(x));
    digest.add(elementary::pow(x, 0.31 * (i % 97) - 15));
  }
  CHECK(digest.value() == 0xa6f76fc54c565f10);
}
