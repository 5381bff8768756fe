// Numbers at the beginning of arbitrary text.

#include "text/leading_number.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("reading a number at the beginning of any text never throws", "[leading_number]") {
  CHECK(leading_whole("12 layers") == 12);
  CHECK(leading_whole(" 007") == 7);
  CHECK(leading_whole("0a", 16) == 10);
  CHECK(leading_whole("") == 0);
  CHECK(leading_whole("none") == 0);
  CHECK(leading_whole("99999999999999999999") == std::numeric_limits<Count>::max());
  CHECK(leading_real("1.5e3 tf") == 1500);
  CHECK(leading_real("") == 0);
  CHECK(std::isinf(leading_real("1e999")));
  CHECK(leading_real("1e-320") < 1e-300);  // std::stod throws
}
