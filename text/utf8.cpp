#include "text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/error.hpp"

namespace llmcalc::model {

namespace {

/// The properties of a UTF-8 character that follow from its first byte: its length and the range of its second byte.
struct Lead {
  std::size_t length;
  unsigned char low, high;
};

Lead lead(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xC2) return {0, 0, 0};  // a continuation byte, or an overlong form of ASCII
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};  // excludes surrogates
  if (first < 0xF0) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first < 0xF4) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

/// Number of bytes starting at `at` that belong to one character, which the end of the string may truncate.
std::size_t matched_length(std::string_view text, std::size_t at, const Lead& l) {
  std::size_t n = std::min<std::size_t>(l.length, 1);
  for (; n < l.length && at + n < text.size(); ++n) {
    const auto byte = static_cast<unsigned char>(text[at + n]);
    if (byte < (n == 1 ? l.low : 0x80) || byte > (n == 1 ? l.high : 0xBF)) break;
  }
  return n;
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t at) {
  const Lead l = lead(static_cast<unsigned char>(text[at]));
  return matched_length(text, at, l) == l.length ? l.length : 0;
}

std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = character_length(text, at);
    if (n == 0) return at;
    at += n;
  }
  return std::nullopt;
}

void refuse_unless_utf8(std::string_view text, const std::string& where) {
  const auto bad = first_bad_byte(text);
  if (!bad) return;
  throw InputError(fmt::format(
      "'{}' is not UTF-8 text: byte {:#04x} at offset {} is not part of a valid character; convert it to UTF-8", where,
      static_cast<unsigned char>(text[*bad]), *bad));
}

std::size_t whole_length(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::size_t at = text.size() - back;
    const Lead l = lead(static_cast<unsigned char>(text[at]));
    if (l.length > back && matched_length(text, at, l) == back) return at;
  }
  return text.size();
}

}  // namespace llmcalc::model
