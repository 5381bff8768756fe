#include "model/random.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "tests/catch.hpp"

using namespace llmcalc::model;

// Known answers for philox4x32 with 10 rounds from the Random123 distribution (file kat_vectors): counter and key all
// zeros, all ones, and digits of pi.
static_assert(philox({{0, 0}}, {{0, 0, 0, 0}}) == RandomWords{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox({{~0U, ~0U}}, {{~0U, ~0U, ~0U, ~0U}}) ==
              RandomWords{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox({{0xa4093822, 0x299f31d0}}, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}) ==
              RandomWords{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

// Seed and counter fill their words from the lowest up.
static_assert(random_key(0x299f31d0a4093822) == RandomKey{{0xa4093822, 0x299f31d0}});
static_assert(random_counter(0x85a308d3243f6a88, 0x0370734413198a2e) ==
              RandomWords{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}});

// Uniform numbers include 0 but not 1.
static_assert(unit_float(0) == 0.0f && unit_float(~0U) == 1.0f - 0x1p-24f && unit_float(1U << 31U) == 0.5f);
static_assert(unit_double(0, 0) == 0.0 && unit_double(~0U, ~0U) == 1.0 - 0x1p-53 && unit_double(1U << 30U, 0) == 0.25);
static_assert(uniform({{0, 0}}, {{0, 0, 0, 0}}) == static_cast<float>(0x6627e8) * 0x1p-24f);
static_assert(uniform<double>({{0, 0}}, {{0, 0, 0, 0}}) == static_cast<double>(0x6627e8d5e169c58d >> 11) * 0x1p-53);
static_assert(uniform_block({{0, 0}}, {{0, 0, 0, 0}}).value[3] == static_cast<float>(0x9b00db) * 0x1p-24f);

TEST_CASE("uniform random numbers have the mean and variance of a uniform distribution on [0, 1)", "[random]") {
  const int n = 1 << 16;
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double u = uniform<double>(random_key(7), random_counter(i));
    sum += u;
    squares += u * u;
  }
  const double mean = sum / n;
  CHECK(std::abs(mean - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(squares / n - mean * mean - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / n));
}

TEST_CASE("normal random numbers have the moments of the normal distribution, and pairs are independent", "[random]") {
  const int n = 1 << 15;
  double sum = 0, squares = 0, fourths = 0, products = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const NormalPair z = normal_pair(random_key(11), random_counter(i, 3));
    sum += z.first + z.second;
    squares += z.first * z.first + z.second * z.second;
    fourths += std::pow(z.first, 4) + std::pow(z.second, 4);
    products += z.first * z.second;
  }
  const double count = 2.0 * n;
  CHECK(std::abs(sum / count) < 5 / std::sqrt(count));
  CHECK(std::abs(squares / count - 1) < 5 * std::sqrt(2 / count));
  CHECK(std::abs(fourths / count - 3) < 5 * std::sqrt(96 / count));
  CHECK(std::abs(products / n) < 5 / std::sqrt(static_cast<double>(n)));
}

TEST_CASE("random numbers depend only on seed, stream and counter, and differ if any of them differs", "[random]") {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t stream = 0; stream < 8; ++stream)
      for (std::uint64_t i = 0; i < 8; ++i) {
        const RandomWords r = philox(random_key(seed), random_counter(i, stream));
        seen.emplace(r.word[0], r.word[1]);
      }
  CHECK(seen.size() == 512);
  CHECK(philox(random_key(5), random_counter(6, 7)) == philox(random_key(5), random_counter(6, 7)));
}
