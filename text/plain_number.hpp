#pragma once
/// Fast conversion of the most common numerals: decimal digits, with or without a fraction. The values equal those of
/// text/quantity.hpp; all other numerals, and digits that a double cannot hold exactly, give nullopt. The functions are
/// inline because a log has millions of numerals.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {
namespace numerals {

inline constexpr std::size_t most_digits = 18;  ///< numbers with this many digits fit into 64 bits

/// Powers of ten that are exact as doubles.
inline constexpr std::array<double, most_digits + 1> exact_tens = [] {
  std::array<double, most_digits + 1> all{1};
  for (std::size_t i = 1; i < all.size(); ++i) all[i] = 10 * all[i - 1];
  return all;
}();

inline bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// Appends the digits at the front of the text to a number, and removes them. Returns the number of digits.
inline std::size_t take_digits(std::string_view& text, std::uint64_t& number) {
  std::size_t n = 0;
  for (; n < text.size() && is_decimal(text[n]); ++n) number = 10 * number + static_cast<std::uint64_t>(text[n] - '0');
  text.remove_prefix(n);
  return n;
}

inline bool has_leading_zero(std::string_view text) { return text.size() > 1 && text[0] == '0' && is_decimal(text[1]); }

}  // namespace numerals

/// Parses "1200".
inline std::optional<Count> plain_count(std::string_view text) {
  if (text.empty() || text.size() > numerals::most_digits || numerals::has_leading_zero(text)) return std::nullopt;
  std::uint64_t number = 0;
  numerals::take_digits(text, number);
  return text.empty() ? std::optional(static_cast<Count>(number)) : std::nullopt;
}

/// Parses "1200" or "0.25". The quotient of two exact doubles is the double nearest to the decimal (Clinger 1990, "How
/// to read floating point numbers accurately").
inline std::optional<double> plain_real(std::string_view text) {
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  if (text.size() > numerals::most_digits || numerals::has_leading_zero(text)) return std::nullopt;
  std::uint64_t number = 0;
  if (numerals::take_digits(text, number) == 0) return std::nullopt;
  std::size_t places = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    places = numerals::take_digits(text, number);
    if (places == 0) return std::nullopt;
  }
  if (!text.empty() || number > exact) return std::nullopt;
  return static_cast<double>(number) / numerals::exact_tens[places];
}

}  // namespace llmcalc
