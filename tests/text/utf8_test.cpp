#include "text/utf8.hpp"

#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace std::string_literals;

TEST_CASE("characters of one to four bytes are valid UTF-8", "[utf8]") {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"s;  // a, e acute, the euro sign, an emoji
  CHECK(character_length(text, 0) == 1);
  CHECK(character_length(text, 1) == 2);
  CHECK(character_length(text, 3) == 3);
  CHECK(character_length(text, 6) == 4);
  CHECK(first_bad_byte(text) == std::nullopt);
  CHECK(first_bad_byte("") == std::nullopt);
  CHECK(first_bad_byte("a\0b"s) == std::nullopt);
}

TEST_CASE("the bounds of every UTF-8 range are valid, and values past them are not", "[utf8]") {
  for (const char* good : {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK(first_bad_byte(good) == std::nullopt);
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3("})
    CHECK(first_bad_byte(bad) == 0U);
}

TEST_CASE("the error for text that is not UTF-8 states the file and the offset", "[utf8]") {
  CHECK(first_bad_byte("caf\xE9!") == 3U);
  CHECK_NOTHROW(refuse_unless_utf8("caf\xC3\xA9", "notes.txt"));
  CHECK_THROWS_WITH(
      refuse_unless_utf8("caf\xE9!", "notes.txt"),
      "'notes.txt' is not UTF-8 text: byte 0xe9 at offset 3 is not part of a valid character; convert it to UTF-8");
  CHECK_THROWS_AS(refuse_unless_utf8("\xFF", "notes.txt"), InputError);
}

TEST_CASE("an incomplete UTF-8 character at the end of a stream is held back", "[utf8]") {
  CHECK(whole_length("") == 0);
  CHECK(whole_length("ab") == 2);
  CHECK(whole_length("a\xC3") == 1);
  CHECK(whole_length("a\xC3\xA9") == 3);
  CHECK(whole_length("a\xE2\x82") == 1);
  CHECK(whole_length("a\xF0\x9F\x98") == 1);
  CHECK(whole_length("a\xF0\x9F\x98\x80") == 5);
  CHECK(whole_length("a\x80") == 2);      // cannot begin a character
  CHECK(whole_length("a\xE0\x80") == 3);  // overlong, so cannot begin one either
}
