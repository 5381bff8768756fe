#include "text/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "text/decimal.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

enum class Kind { size, rate, arithmetic, time, power, price };

/// The name of a kind of quantity in error messages, with an example.
struct Spoken {
  std::string_view noun, example;
};
constexpr std::array<Spoken, 6> spoken{{{"a size", "80 GiB"},
                                        {"a rate", "3.35 TB/s"},
                                        {"a compute rate", "989.4 TFLOP/s"},
                                        {"a time", "1.5 ms"},
                                        {"a power", "700 W"},
                                        {"a price", "2.5 USD/h"}}};
constexpr Spoken of(Kind k) { return spoken[static_cast<std::size_t>(k)]; }

/// A unit is 10^tens x 2^twos base units: bytes, bytes/s, FLOP/s, s, W, USD/h.
struct UnitWord {
  std::string_view name;
  Kind kind = Kind::size;
  int tens = 0, twos = 0;
};

constexpr std::array units{
    UnitWord{"B", Kind::size, 0, 0},
    UnitWord{"kB", Kind::size, 3, 0},
    UnitWord{"MB", Kind::size, 6, 0},
    UnitWord{"GB", Kind::size, 9, 0},
    UnitWord{"TB", Kind::size, 12, 0},
    UnitWord{"PB", Kind::size, 15, 0},
    UnitWord{"KiB", Kind::size, 0, 10},
    UnitWord{"MiB", Kind::size, 0, 20},
    UnitWord{"GiB", Kind::size, 0, 30},
    UnitWord{"TiB", Kind::size, 0, 40},
    UnitWord{"PiB", Kind::size, 0, 50},
    UnitWord{"B/s", Kind::rate, 0, 0},
    UnitWord{"kB/s", Kind::rate, 3, 0},
    UnitWord{"MB/s", Kind::rate, 6, 0},
    UnitWord{"GB/s", Kind::rate, 9, 0},
    UnitWord{"TB/s", Kind::rate, 12, 0},
    UnitWord{"KiB/s", Kind::rate, 0, 10},
    UnitWord{"MiB/s", Kind::rate, 0, 20},
    UnitWord{"GiB/s", Kind::rate, 0, 30},
    UnitWord{"TiB/s", Kind::rate, 0, 40},
    UnitWord{"Mbit/s", Kind::rate, 6, -3},
    UnitWord{"Gbit/s", Kind::rate, 9, -3},
    UnitWord{"FLOP/s", Kind::arithmetic, 0, 0},
    UnitWord{"MFLOP/s", Kind::arithmetic, 6, 0},
    UnitWord{"GFLOP/s", Kind::arithmetic, 9, 0},
    UnitWord{"TFLOP/s", Kind::arithmetic, 12, 0},
    UnitWord{"PFLOP/s", Kind::arithmetic, 15, 0},
    UnitWord{"EFLOP/s", Kind::arithmetic, 18, 0},
    UnitWord{"GOP/s", Kind::arithmetic, 9, 0},
    UnitWord{"TOP/s", Kind::arithmetic, 12, 0},
    UnitWord{"POP/s", Kind::arithmetic, 15, 0},
    UnitWord{"ns", Kind::time, -9, 0},
    UnitWord{"us", Kind::time, -6, 0},
    UnitWord{"ms", Kind::time, -3, 0},
    UnitWord{"s", Kind::time, 0, 0},
    UnitWord{"W", Kind::power, 0, 0},
    UnitWord{"kW", Kind::power, 3, 0},
    UnitWord{"USD/h", Kind::price, 0, 0},
};

/// A suffix of a plain number.
struct Ending {
  std::string_view name;
  int tens = 0, twos = 0;
};
constexpr std::array endings{Ending{"", 0, 0},    Ending{"k", 3, 0},  Ending{"M", 6, 0},   Ending{"G", 9, 0},
                             Ending{"B", 9, 0},   Ending{"T", 12, 0}, Ending{"Ki", 0, 10}, Ending{"Mi", 0, 20},
                             Ending{"Gi", 0, 30}, Ending{"Ti", 0, 40}};

/// The string being parsed, its source and the expected kind, for error messages.
struct Asked {
  std::string_view text, where, expected;

  [[noreturn]] void refuse(std::string_view advice = "") const {
    throw InputError(fmt::format("{}: expected {}, got {}{}{}", where, expected, in_quotes(text),
                                 advice.empty() ? "" : "; ", advice));
  }
};

std::string_view without_leading_zeros(std::string_view text) {
  while (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') text.remove_prefix(1);
  return text;
}

Numeral numeral_of(const Asked& a) {
  const Numeral n = numeral(a.text);
  if (n.problem == Misread::leading_zero) a.refuse(fmt::format("write {}", in_quotes(without_leading_zeros(a.text))));
  if (n.problem == Misread::long_numeral) a.refuse("write fewer digits");
  if (n.problem != Misread::none) a.refuse();
  return n;
}

/// The numeral in `a` multiplied by its suffix.
Decimal with_ending(const Asked& a) {
  const Numeral n = numeral_of(a);
  for (const Ending& e : endings)
    if (n.rest == e.name) return n.value.times_ten_to(e.tens).times_two_to(e.twos);
  if (n.rest == "K") a.refuse("write k for 1000 or Ki for 1024");
  a.refuse("valid suffixes are k, M, G or B, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024)");
}

Int128 whole_of(const Asked& a, const Decimal& d, int limit_power) {
  const Whole w = whole(d, Int128{1} << limit_power);
  if (w.value) return *w.value;
  if (w.problem == Inexact::fraction) a.refuse("it is not an integer");
  a.refuse(fmt::format("write a number below 2^{}", limit_power));
}

constexpr std::string_view a_count = "a whole number (8192, 8k, 8Ki, 300B, 3e11)";
constexpr std::string_view a_positive_count = "a positive whole number (8192, 8k, 8Ki, 300B, 3e11)";

Count count_of(const Asked& a) { return static_cast<Count>(whole_of(a, with_ending(a), 63)); }

const UnitWord* unit(std::string_view name) {
  for (const UnitWord& u : units)
    if (u.name == name) return &u;
  return nullptr;
}

/// A kind of quantity with an example: "a rate (3.35 TB/s)".
std::string spoken_of(Kind kind, std::string_view example) { return fmt::format("{} ({})", of(kind).noun, example); }

/// Example value for an error message, corrected from the input: "4.8 TB" for a rate probably means "4.8 TB/s", and
/// vice versa.
std::string example(const Asked& a, Kind wanted, const UnitWord& found) {
  if (wanted == Kind::rate && found.kind == Kind::size && unit(std::string(found.name) + "/s"))
    return std::string(a.text) + "/s";
  if (wanted == Kind::size && found.kind == Kind::rate && unit(found.name.substr(0, found.name.size() - 2)))
    return std::string(a.text.substr(0, a.text.size() - 2));
  return std::string(of(wanted).example);
}

/// The string in `a` parsed as a quantity of `kind`, in base units.
Decimal quantity(const Asked& a, Kind kind, Bare bare) {
  const Numeral n = numeral_of(a);
  const std::string_view name = !n.rest.empty() && n.rest[0] == ' ' ? n.rest.substr(1) : n.rest;
  if (n.rest.empty() && bare == Bare::allowed) return n.value;
  if (name.empty()) a.refuse("add the unit");
  const UnitWord* u = unit(name);
  if (u == nullptr && kind == Kind::size && bare == Bare::allowed)
    u = unit(std::string(name) + "B");  // accepts
                                        // "1G", "64Mi"
  if (u == nullptr) a.refuse(fmt::format("unknown unit {}", in_quotes(name)));
  if (u->kind != kind)
    throw InputError(fmt::format("{}: expected {}, got {}, {}", a.where, spoken_of(kind, example(a, kind, *u)),
                                 in_quotes(a.text), of(u->kind).noun));
  return n.value.times_ten_to(u->tens).times_two_to(u->twos);
}

double real_of(const Asked& a, const Decimal& d) {
  const auto value = real(d);
  if (!value) a.refuse("it is outside the range of a double");
  return *value;
}

double real_quantity(std::string_view text, std::string_view where, Kind kind, Bare bare) {
  const std::string expected = spoken_of(kind, of(kind).example);
  const Asked a{text, where, expected};
  return real_of(a, quantity(a, kind, bare));
}

double rate(std::string_view text, std::string_view where, Kind kind, Bare bare) {
  const double value = real_quantity(text, where, kind, bare);
  const std::string expected = spoken_of(kind, of(kind).example);
  if (value == 0) Asked{text, where, expected}.refuse("omit it if it is unknown or not applicable");
  return value;
}

}  // namespace

Count parse_count(std::string_view text, std::string_view where) { return count_of({text, where, a_count}); }

Count parse_positive(std::string_view text, std::string_view where) {
  const Asked a{text, where, a_positive_count};
  const Count n = count_of(a);
  if (n < 1) a.refuse();
  return n;
}

Int128 parse_wide(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a positive whole number (5.76e23)"};
  const Int128 n = whole_of(a, with_ending(a), 127);
  if (n < 1) a.refuse();
  return n;
}

double parse_real(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number of at least 0 (0.5, 1200)"};
  return real_of(a, with_ending(a));
}

double parse_positive_real(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number above 0 (0.5, 1200)"};
  const double value = real_of(a, with_ending(a));
  if (value <= 0) a.refuse();
  return value;
}

double parse_share(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number from 0 to 1 (0.5)"};
  const Numeral n = numeral_of(a);
  const double value = n.rest.empty() ? real_of(a, n.value) : -1;
  if (value < 0 || value > 1) a.refuse();
  return value;
}

double parse_fraction(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number above 0 and at most 1 (0.5)"};
  const Numeral n = numeral_of(a);
  const double value = n.rest.empty() ? real_of(a, n.value) : 0;
  if (value <= 0 || value > 1) a.refuse();
  return value;
}

Bytes parse_bytes(std::string_view text, std::string_view where, Bare bare) {
  const Asked a{text, where, "a size (80 GiB)"};
  return Bytes(static_cast<Count>(whole_of(a, quantity(a, Kind::size, bare), 63)));
}

Bytes parse_rounded_bytes(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a size (14.99 GiB)"};
  const double bytes = real_of(a, quantity(a, Kind::size, Bare::refused));
  if (bytes >= 0x1p62) a.refuse("write a number below 2^62 bytes");
  return Bytes(std::llround(bytes));
}

BytesPerSecond parse_rate(std::string_view text, std::string_view where, Bare bare) {
  return BytesPerSecond(rate(text, where, Kind::rate, bare));
}

FlopsPerSecond parse_flops_rate(std::string_view text, std::string_view where, Bare bare) {
  return FlopsPerSecond(rate(text, where, Kind::arithmetic, bare));
}

Seconds parse_seconds(std::string_view text, std::string_view where, Bare bare) {
  return Seconds(real_quantity(text, where, Kind::time, bare));
}

double parse_watts(std::string_view text, std::string_view where, Bare bare) {
  return real_quantity(text, where, Kind::power, bare);
}

double parse_price(std::string_view text, std::string_view where, Bare bare) {
  return real_quantity(text, where, Kind::price, bare);
}

std::string count_text(Count n) {
  constexpr std::array<std::pair<Count, char>, 3> endings{
      {{1'000'000'000'000, 'T'}, {1'000'000'000, 'B'}, {1'000'000, 'M'}}};
  for (const auto& [unit, ending] : endings)
    if (n >= unit && n % unit == 0) return std::to_string(n / unit) + ending;
  return std::to_string(n);
}

}  // namespace llmcalc
