#include "text/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace llmcalc {

namespace {

constexpr std::size_t most_exponent_digits = 4;

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string_view leading_digits(std::string_view s) {
  return s.substr(0, static_cast<std::size_t>(std::find_if_not(s.begin(), s.end(), digit) - s.begin()));
}

/// Whether a digit follows s[at].
bool digits_follow(std::string_view s, std::size_t at) { return at + 1 < s.size() && digit(s[at + 1]); }

/// Removes "e11", "e+11" or "e-3" from the front of `rest` and returns its value. Returns 0 and leaves `rest` unchanged
/// if it does not begin with an exponent.
std::optional<int> exponent(std::string_view& rest) {
  if (rest.empty() || (rest[0] != 'e' && rest[0] != 'E')) return 0;
  const bool sign = rest.size() > 1 && (rest[1] == '-' || rest[1] == '+');
  if (!digits_follow(rest, sign ? 1 : 0)) return 0;  // "e" begins a unit, not an exponent
  const bool negative = rest[1] == '-';
  const std::string_view digits = leading_digits(rest.substr(sign ? 2 : 1));
  rest.remove_prefix(digits.size() + (sign ? 2 : 1));
  if (digits.size() > most_exponent_digits) return std::nullopt;
  int e = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), e);
  return negative ? -e : e;
}

/// The decimal digits x 10^e, without leading or trailing zeros.
std::optional<Decimal> decimal(std::string digits, int e) {
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++e;
  }
  digits.erase(0, digits.find_first_not_of('0'));
  Int128 d = 0;
  for (const char c : digits)
    if (__builtin_mul_overflow(d, Int128{10}, &d) || __builtin_add_overflow(d, static_cast<unsigned>(c - '0'), &d))
      return std::nullopt;
  return Decimal{d, e, e};
}

/// Multiplies d by p^power if the result is exact and below the limit; otherwise returns the reason why it is not.
std::optional<Inexact> scale(Int128& d, unsigned p, int power, Int128 limit) {
  for (; power < 0; ++power) {
    if (d % p != 0) return Inexact::fraction;
    d /= p;
  }
  for (; power > 0; --power)
    if (__builtin_mul_overflow(d, Int128{p}, &d) || d >= limit) return Inexact::too_large;
  return std::nullopt;
}

}  // namespace

Numeral numeral(std::string_view text) {
  if (text.empty()) return {Misread::empty, {}, text};
  if (text[0] == '-' || text[0] == '+') return {Misread::sign, {}, text};
  const bool bare_point = text[0] == '.' && digits_follow(text, 0);  // ".5" is "0.5"
  const std::string_view before = bare_point ? "0" : leading_digits(text);
  if (before.empty()) return {Misread::no_digit, {}, text};
  if (before.size() > 1 && before[0] == '0') return {Misread::leading_zero, {}, text};
  std::string_view rest = bare_point ? text : text.substr(before.size());
  std::string_view after;
  if (!rest.empty() && rest[0] == '.' && digits_follow(rest, 0)) {
    after = leading_digits(rest.substr(1));
    rest.remove_prefix(1 + after.size());
  }
  const auto e = exponent(rest);
  const auto value = !e || after.size() > 1000
                         ? std::nullopt
                         : decimal(std::string(before) + std::string(after), *e - static_cast<int>(after.size()));
  if (!value) return {Misread::long_numeral, {}, rest};
  return {Misread::none, *value, rest};
}

Whole whole(const Decimal& d, Int128 limit) {
  if (d.digits == 0) return {Int128{0}, {}};
  Int128 n = d.digits;
  // Division comes first, so that intermediate values do not overflow.
  auto problem = scale(n, 5, std::min(d.fives, 0), limit);
  if (!problem) problem = scale(n, 2, std::min(d.twos, 0), limit);
  if (!problem) problem = scale(n, 5, std::max(d.fives, 0), limit);
  if (!problem) problem = scale(n, 2, std::max(d.twos, 0), limit);
  if (!problem && n >= limit) problem = Inexact::too_large;
  return problem ? Whole{std::nullopt, *problem} : Whole{n, {}};
}

std::optional<double> real(const Decimal& d) {
  std::string digits;
  for (Int128 n = d.digits; n != 0; n /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
  digits = (digits.empty() ? "0" : digits) + "e" + std::to_string(d.fives);
  double value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) return std::nullopt;
  value = std::ldexp(value, d.twos - d.fives);
  if (!std::isfinite(value) || (value == 0 && d.digits != 0)) return std::nullopt;
  return value;
}

}  // namespace llmcalc
