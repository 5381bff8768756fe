#pragma once
/// Exact parsing of decimal numerals. A count is never converted through a double.

#include <optional>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

/// digits x 2^twos x 5^fives. A unit's factor is also a product of twos and fives (1000 = 2^3 x 5^3, 1024 = 2^10), so
/// 1.5 Ki = 15 x 10^-1 x 2^10 is recognized as an integer, and 0.7 Ki as a fraction, without rounding.
struct Decimal {
  Int128 digits = 0;
  int twos = 0, fives = 0;

  Decimal times_ten_to(int n) const { return {digits, twos + n, fives + n}; }
  Decimal times_two_to(int n) const { return {digits, twos + n, fives}; }
};

enum class Misread { none, empty, sign, no_digit, leading_zero, long_numeral };

/// The numeral at the beginning of a string ("12", "0.25", "3e11") and the rest of the string.
struct Numeral {
  Misread problem = Misread::none;
  Decimal value;
  std::string_view rest;
};

/// Reads the numeral at the beginning of `text`: digits, optionally followed by a decimal point and digits, and then
/// by e and a power of ten. Rejects a sign, a leading zero before another digit, hexadecimal and other C number
/// syntax.
Numeral numeral(std::string_view text);

enum class Inexact { fraction, too_large };

/// The integer value of `d`, or the reason why it is not an integer below `limit`.
struct Whole {
  std::optional<Int128> value;
  Inexact problem = Inexact::fraction;
};
Whole whole(const Decimal& d, Int128 limit);

/// The nearest double; absent if it is not finite, or if it is zero for a nonzero number.
std::optional<double> real(const Decimal& d);

}  // namespace llmcalc
