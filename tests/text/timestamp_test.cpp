#include "text/timestamp.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("a date and time is a number of nanoseconds since 1970", "[text]") {
  constexpr std::int64_t second = 1'000'000'000, day = 86'400 * second;
  CHECK(parse_timestamp("1970-01-01 00:00:00") == 0);
  CHECK(parse_timestamp("1970-01-02T00:00:01.5Z") == day + 3 * second / 2);
  // 54 years with 13 leap days before 2024, then 31 + 29 + 31 + 30 + 9 days
  CHECK(parse_timestamp("2024-05-10 00:00:00.009930+00:00") == (54 * 365 + 13 + 130) * day + 9'930'000);
  CHECK(parse_timestamp("2024-02-29 23:59:59.123456789123") ==
        (54 * 365 + 13 + 60) * day - second + 123'456'789);  // digits beyond nanoseconds are dropped
}

TEST_CASE("a time with an offset is converted to UTC", "[text]") {
  const auto utc = parse_timestamp("2023-11-16 18:17:03.9799600");
  CHECK(utc);
  CHECK(parse_timestamp("2023-11-16 20:17:03.97996+02:00") == utc);
  CHECK(parse_timestamp("2023-11-16 10:47:03.97996-0730") == utc);
}

TEST_CASE("text that is not a date and time is rejected", "[text]") {
  for (const char* text : {"", "5", "2023-11-16", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-16 24:00:00",
                           "2023-11-16 18:17", "2023-11-16 18:17:03.", "2023-11-16 18:17:03 ", "2023-11-16 18:17:03+2",
                           "1969-12-31 23:59:59", "2262-01-01 00:00:00", "16-11-2023 18:17:03"})
    CHECK_FALSE(parse_timestamp(text));
}
