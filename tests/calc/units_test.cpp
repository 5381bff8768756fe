// Counts, bytes and FLOPs are exact, or operations on them throw Overflow.

#include "calc/units.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {
constexpr Count most = std::numeric_limits<Count>::max();
}

TEST_CASE("a count below 2^63 is exact, and a larger one throws Overflow", "[contract][units]") {
  CHECK(add(most - 1, 1) == most);
  CHECK_THROWS_AS(add(most, 1), Overflow);
  CHECK(mul(Count{1} << 31, Count{1} << 31) == Count{1} << 62);
  CHECK_THROWS_AS(mul(Count{1} << 32, Count{1} << 31), Overflow);
  CHECK(mul(3, 5, 7, 11) == 1155);
  CHECK_THROWS_AS(mul(Count{1} << 40, Count{1} << 20, 8), Overflow);
}

TEST_CASE("byte sums, differences and products are exact or throw Overflow", "[contract][units]") {
  CHECK(3 * Bytes(5) + Bytes(7) - Bytes(2) == Bytes(20));
  CHECK_THROWS_AS(Bytes(most) + Bytes(1), Overflow);
  CHECK_THROWS_AS(2 * Bytes(most), Overflow);
  CHECK_THROWS_AS(Bytes(-most) - Bytes(2), Overflow);
}

TEST_CASE("FLOPs are exact beyond 2^64 and throw Overflow at 2^128", "[contract][units]") {
  // 6 x 671026404352 parameters x 10^15 tokens
  Flops f = flops(6, 671026404352, 1000000000000000);
  CHECK((f.value == Int128{4026158426112} * 1000000000000000U));
  CHECK((f.value / 1000000000000000U == 4026158426112U));
  CHECK_THROWS_AS(flops(most, most, most), Overflow);
  CHECK_THROWS_AS(Flops(5) - Flops(6), Overflow);
  CHECK_THROWS_AS(-1 * Flops(6), Overflow);
  CHECK_THROWS_AS(Flops(~Int128{0}) + Flops(1), Overflow);
}

TEST_CASE("the quotient of two quantities has the right value and unit", "[contract][units]") {
  CHECK((Bytes(6) / BytesPerSecond(4)).value == 1.5);
  CHECK((Flops(6) / FlopsPerSecond(4)).value == 1.5);
  CHECK((Flops(6) / Bytes(4)).value == 1.5);
  CHECK((FlopsPerSecond(312e12) / BytesPerSecond(2e12)).value == 156);
  CHECK(Seconds(3) / Seconds(2) == 1.5);
  CHECK(ceil_div(7, 2) == 4);
  CHECK(ceil_div(8, 2) == 4);
  CHECK(ceil_div(most, 2) == most / 2 + 1);
}
