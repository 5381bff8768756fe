#include "text/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "text/decimal.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

enum class Kind { size, rate, arithmetic, time, power, price };

/// How a kind is spoken of, and an example of it.
struct Spoken {
  std::string_view noun, example;
};
constexpr std::array<Spoken, 6> spoken{{{"a size", "80 GiB"},
                                        {"a rate", "3.35 TB/s"},
                                        {"a rate of arithmetic", "989.4 TFLOP/s"},
                                        {"a time", "1.5 ms"},
                                        {"a power", "700 W"},
                                        {"a price", "2.5 USD/h"}}};
constexpr Spoken of(Kind k) { return spoken[static_cast<std::size_t>(k)]; }

/// A unit is 10^tens x 2^twos base units: bytes, bytes/s, FLOP/s, s, W, USD/h.
struct Unit {
  std::string_view name;
  Kind kind = Kind::size;
  int tens = 0, twos = 0;
};

constexpr std::array units{
    Unit{"B", Kind::size, 0, 0},
    Unit{"kB", Kind::size, 3, 0},
    Unit{"MB", Kind::size, 6, 0},
    Unit{"GB", Kind::size, 9, 0},
    Unit{"TB", Kind::size, 12, 0},
    Unit{"PB", Kind::size, 15, 0},
    Unit{"KiB", Kind::size, 0, 10},
    Unit{"MiB", Kind::size, 0, 20},
    Unit{"GiB", Kind::size, 0, 30},
    Unit{"TiB", Kind::size, 0, 40},
    Unit{"PiB", Kind::size, 0, 50},
    Unit{"B/s", Kind::rate, 0, 0},
    Unit{"kB/s", Kind::rate, 3, 0},
    Unit{"MB/s", Kind::rate, 6, 0},
    Unit{"GB/s", Kind::rate, 9, 0},
    Unit{"TB/s", Kind::rate, 12, 0},
    Unit{"KiB/s", Kind::rate, 0, 10},
    Unit{"MiB/s", Kind::rate, 0, 20},
    Unit{"GiB/s", Kind::rate, 0, 30},
    Unit{"TiB/s", Kind::rate, 0, 40},
    Unit{"Mbit/s", Kind::rate, 6, -3},
    Unit{"Gbit/s", Kind::rate, 9, -3},
    Unit{"FLOP/s", Kind::arithmetic, 0, 0},
    Unit{"MFLOP/s", Kind::arithmetic, 6, 0},
    Unit{"GFLOP/s", Kind::arithmetic, 9, 0},
    Unit{"TFLOP/s", Kind::arithmetic, 12, 0},
    Unit{"PFLOP/s", Kind::arithmetic, 15, 0},
    Unit{"EFLOP/s", Kind::arithmetic, 18, 0},
    Unit{"GOP/s", Kind::arithmetic, 9, 0},
    Unit{"TOP/s", Kind::arithmetic, 12, 0},
    Unit{"POP/s", Kind::arithmetic, 15, 0},
    Unit{"ns", Kind::time, -9, 0},
    Unit{"us", Kind::time, -6, 0},
    Unit{"ms", Kind::time, -3, 0},
    Unit{"s", Kind::time, 0, 0},
    Unit{"W", Kind::power, 0, 0},
    Unit{"kW", Kind::power, 3, 0},
    Unit{"USD/h", Kind::price, 0, 0},
};

/// The endings of a plain count.
struct Ending {
  std::string_view name;
  int tens = 0, twos = 0;
};
constexpr std::array endings{Ending{"", 0, 0},    Ending{"k", 3, 0},  Ending{"M", 6, 0},   Ending{"G", 9, 0},
                             Ending{"B", 9, 0},   Ending{"T", 12, 0}, Ending{"Ki", 0, 10}, Ending{"Mi", 0, 20},
                             Ending{"Gi", 0, 30}, Ending{"Ti", 0, 40}};

/// What is being read, for the sentences.
struct Asked {
  std::string_view text, where, wanted;

  [[noreturn]] void refuse(std::string_view why) const {
    throw InputError(fmt::format("{}: {} {}; {} is wanted", where, in_quotes(text), why, wanted));
  }
  [[noreturn]] void say(std::string_view what) const {
    throw InputError(fmt::format("{}: {} {}", where, in_quotes(text), what));
  }
};

std::string_view without_leading_zeros(std::string_view text) {
  while (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9') text.remove_prefix(1);
  return text;
}

Numeral numeral_of(const Asked& a) {
  const Numeral n = numeral(a.text);
  switch (n.problem) {
    case Misread::none:
      return n;
    case Misread::empty:
      throw InputError(fmt::format("{}: nothing is given; {} is wanted", a.where, a.wanted));
    case Misread::sign:
      a.refuse("begins with a sign");
    case Misread::no_digit:
      a.refuse("is not a number");
    case Misread::leading_zero:
      a.say(fmt::format("begins with a zero; write {}", without_leading_zeros(a.text).substr(0, 60)));
    case Misread::long_numeral:
      a.refuse("has more digits than are read");
  }
  a.refuse("is not a number");
}

/// The numeral of `a` times its ending.
Decimal with_ending(const Asked& a) {
  const Numeral n = numeral_of(a);
  for (const Ending& e : endings)
    if (n.rest == e.name) return n.value.times_ten_to(e.tens).times_two_to(e.twos);
  if (n.rest == "K") a.say("ends in \"K\"; write k for 1000 or Ki for 1024");
  a.say(fmt::format("ends in {}; the endings are k, M, G or B, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024)",
                    in_quotes(n.rest)));
}

Wide whole_of(const Asked& a, const Decimal& d, int limit_power, std::string_view not_whole) {
  const Whole w = whole(d, Wide{1} << limit_power);
  if (w.value) return *w.value;
  if (w.problem == Inexact::fraction) a.refuse(not_whole);
  a.say(fmt::format("is past 2^{}, the end of what is read; write a smaller number", limit_power));
}

constexpr std::string_view a_count = "a whole number such as 8192, 8k, 8Ki, 300B or 3e11";

const Unit* unit(std::string_view name) {
  for (const Unit& u : units)
    if (u.name == name) return &u;
  return nullptr;
}

/// "4.8 TB" for a rate is probably "4.8 TB/s", and the other way round.
std::string example(const Asked& a, Kind wanted, const Unit& found) {
  if (wanted == Kind::rate && found.kind == Kind::size && unit(std::string(found.name) + "/s"))
    return std::string(a.text) + "/s";
  if (wanted == Kind::size && found.kind == Kind::rate && unit(found.name.substr(0, found.name.size() - 2)))
    return std::string(a.text.substr(0, a.text.size() - 2));
  return std::string(of(wanted).example);
}

/// `text` as a quantity of the kind, in its base unit.
Decimal quantity(const Asked& a, Kind kind, Bare bare) {
  const Numeral n = numeral_of(a);
  const std::string_view name = !n.rest.empty() && n.rest[0] == ' ' ? n.rest.substr(1) : n.rest;
  if (n.rest.empty() && bare == Bare::allowed) return n.value;
  if (name.empty()) a.refuse("has no unit");
  const Unit* u = unit(name);
  if (u == nullptr) a.refuse(fmt::format("has the unknown unit {}", in_quotes(name)));
  if (u->kind != kind)
    throw InputError(fmt::format("{}: {} is {}; {} such as {} is wanted", a.where, in_quotes(a.text), of(u->kind).noun,
                                 of(kind).noun, in_quotes(example(a, kind, *u))));
  return n.value.times_ten_to(u->tens).times_two_to(u->twos);
}

double real_of(const Asked& a, const Decimal& d) {
  const auto value = real(d);
  if (!value) a.refuse("is outside the range of a double");
  return *value;
}

double real_quantity(std::string_view text, std::string_view where, Kind kind, Bare bare) {
  const std::string wanted = fmt::format("{} such as \"{}\"", of(kind).noun, of(kind).example);
  const Asked a{text, where, wanted};
  return real_of(a, quantity(a, kind, bare));
}

double rate(std::string_view text, std::string_view where, Kind kind, Bare bare) {
  const double value = real_quantity(text, where, kind, bare);
  if (value == 0) Asked{text, where, ""}.say("is zero; leave it out if it is not known or not there");
  return value;
}

}  // namespace

Count parse_count(std::string_view text, std::string_view where) {
  const Asked a{text, where, a_count};
  return static_cast<Count>(whole_of(a, with_ending(a), 63, "is not a whole number"));
}

Count parse_positive(std::string_view text, std::string_view where) {
  const Count n = parse_count(text, where);
  if (n < 1) Asked{text, where, "a whole number of at least 1"}.refuse("is too small");
  return n;
}

Wide parse_wide(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a whole number such as 5.76e23"};
  return whole_of(a, with_ending(a), 127, "is not a whole number");
}

double parse_real(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number such as 0.5 or 1200"};
  return real_of(a, with_ending(a));
}

double parse_fraction(std::string_view text, std::string_view where) {
  const Asked a{text, where, "a number above 0 and at most 1"};
  const Numeral n = numeral_of(a);
  if (!n.rest.empty()) a.refuse(fmt::format("ends in {}", in_quotes(n.rest)));
  const double value = real_of(a, n.value);
  if (value <= 0 || value > 1) a.refuse("is out of range");
  return value;
}

Bytes parse_bytes(std::string_view text, std::string_view where, Bare bare) {
  const Asked a{text, where, "a size such as \"80 GiB\""};
  return Bytes(static_cast<Count>(whole_of(a, quantity(a, Kind::size, bare), 63, "is not a whole number of bytes")));
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

}  // namespace llmcalc
