#include "text/date.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("a date is a year, a month or a day", "[date]") {
  for (const char* date : {"2026", "2026-03", "2026-03-28"}) CHECK(is_date(date));
  for (const char* other : {"", "26", "1026", "202603", "2026/03", "2026-3", "2026-03-2", "2026-03-28T10:00"})
    CHECK_FALSE(is_date(other));
}

TEST_CASE("the longest date at the beginning of a text is read", "[date]") {
  CHECK(leading_date("2026-07/08") == "2026-07");
  CHECK(leading_date("2026-07-08, to 3 values") == "2026-07-08");
  CHECK(leading_date("2025 Q4") == "2025");
  CHECK_FALSE(leading_date("Q4 2025"));
}

TEST_CASE("a year and a month begin on their first day", "[date]") {
  CHECK(first_day("2026") == "2026-01-01");
  CHECK(first_day("2026-03") == "2026-03-01");
  CHECK(first_day("2026-03-28") == "2026-03-28");
}
