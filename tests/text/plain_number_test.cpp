#include "text/plain_number.hpp"

#include "tests/catch.hpp"
#include "text/quantity.hpp"

using namespace llmcalc;

TEST_CASE("plain numerals have the values of all numerals", "[text]") {
  for (const char* text :
       {"0", "7", "1200", "0.5", "12.25", "0.1", "1700000000.123456", "9007199254740992", "0.0000000000000001"})
    CHECK(plain_real(text) == parse_real(text, ""));
  CHECK(plain_count("123456789012345678") == 123456789012345678);
}

TEST_CASE("other numerals are left to the general parser", "[text]") {
  for (const char* text :
       {"", ".", "1.", ".5", "01", "-1", "+1", "1e3", "4k", "1 ", "9007199254740993", "0.12345678901234567890"})
    CHECK_FALSE(plain_real(text));
  for (const char* text : {"", "1.0", "007", "4k", "1234567890123456789"}) CHECK_FALSE(plain_count(text));
}
