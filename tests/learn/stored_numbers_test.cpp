#include "learn/stored_numbers.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

double widened(const char* dtype, std::uint16_t bits) {
  std::byte bytes[2];
  std::memcpy(bytes, &bits, 2);
  double x = 0;
  widen(dtype, bytes, {&x, 1});
  return x;
}

}  // namespace

TEST_CASE("float16 is read exactly: normal, subnormal, infinite and NaN", "[stored]") {
  CHECK(widened("F16", 0x3c00) == 1);
  CHECK(widened("F16", 0xc248) == -3.140625);
  CHECK(widened("F16", 0x7bff) == 65504);
  CHECK(widened("F16", 0x0001) == std::ldexp(1.0, -24));
  CHECK(widened("F16", 0x0400) == std::ldexp(1.0, -14));
  CHECK(std::signbit(widened("F16", 0x8000)));
  CHECK(widened("F16", 0xfc00) == -HUGE_VAL);
  CHECK(std::isnan(widened("F16", 0x7e00)));
}

TEST_CASE("bfloat16 is the upper half of a float", "[stored]") {
  CHECK(widened("BF16", 0x3f80) == 1);
  CHECK(widened("BF16", 0x4049) == 3.140625);
  CHECK(std::isnan(widened("BF16", 0x7fc0)));
}

TEST_CASE("only F64, F32, F16 and BF16 are accepted as weight dtypes", "[stored]") {
  for (const char* dtype : {"F64", "F32", "F16", "BF16"}) CHECK(is_stored_number(dtype));
  for (const char* dtype : {"I64", "U8", "F8_E4M3", "BOOL"}) CHECK_FALSE(is_stored_number(dtype));
}
