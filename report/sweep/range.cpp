#include "report/sweep/range.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/decimal.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view dots = "..";

[[noreturn]] void refuse_range(std::string_view where, std::string_view text, std::string_view why) {
  throw InputError(
      fmt::format("{}: {} {}; write a range such as 1..8, 1..64x2 or 8k..32k+8k", where, in_quotes(text), why));
}

/// Number of digits after the decimal point of a plain number; 0 for any other text.
int places_of(std::string_view text) {
  const std::size_t point = text.find('.');
  const bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return point == std::string_view::npos || !plain ? 0 : static_cast<int>(text.size() - point - 1);
}

/// The number in units of 10^-places, exact.
Count scaled(std::string_view text, int places, std::string_view where) {
  if (places == 0) return parse_count(text, where);
  const Numeral n = numeral(text);
  const Whole w = whole(n.value.times_ten_to(places), Int128{1} << 63U);
  if (n.problem != Misread::none || !n.rest.empty() || !w.value) return parse_count(text, where);
  return static_cast<Count>(*w.value);
}

/// Number of values from `first` to `last`, each the previous one multiplied by `times`.
Count number_of_factors(Count first, Count last, Count times) {
  Count n = 1;
  for (Count now = first; now <= last / times; now *= times) ++n;
  return n;
}

/// The parts of "A..BxK" and "A..B+K".
struct RangeText {
  std::string_view first, last, by;
  char how = '+';
};

RangeText parts_of(std::string_view text, std::size_t at) {
  RangeText parts{text.substr(0, at), text.substr(at + dots.size()), "1"};
  const std::size_t sign = parts.last.find_first_of("x+");
  if (sign == std::string_view::npos) return parts;
  parts.how = parts.last[sign];
  parts.by = parts.last.substr(sign + 1);
  parts.last = parts.last.substr(0, sign);
  return parts;
}

}  // namespace

std::string NumberRange::text(Count index) const {
  Count value = first;
  for (Count i = 0; times > 1 && i < index; ++i) value *= times;
  if (times == 1) value += index * step;
  std::string digits = fmt::format("{:0{}}", value, places + 1);
  if (places == 0) return digits;
  digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

std::optional<NumberRange> read_range(std::string_view text, std::string_view where) {
  const std::size_t at = text.find(dots);
  if (at == std::string_view::npos || at == 0 || text[0] < '0' || text[0] > '9') return std::nullopt;
  const RangeText parts = parts_of(text, at);
  NumberRange range;
  const bool multiplies = parts.how == 'x';
  range.places = std::max({places_of(parts.first), places_of(parts.last), multiplies ? 0 : places_of(parts.by)});
  range.first = scaled(parts.first, range.places, where);
  const Count last = scaled(parts.last, range.places, where);
  if (last < range.first) refuse_range(where, text, "has no numbers");
  if (multiplies) {
    range.times = parse_count(parts.by, where);
    if (range.times < 2 || range.first == 0) refuse_range(where, text, "does not grow");
    range.size = number_of_factors(range.first, last, range.times);
    return range;
  }
  range.step = scaled(parts.by, range.places, where);
  if (range.step < 1) refuse_range(where, text, "does not grow");
  range.size = add((last - range.first) / range.step, 1);
  return range;
}

}  // namespace llmcalc
