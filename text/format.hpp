#pragma once
/// Formats numbers, rounded for readers or with every digit.

#include <string>
#include <variant>

#include "calc/units.hpp"

namespace llmcalc {

/// The unit of a number, which determines how it is printed.
enum class Unit : std::uint8_t {
  none,
  parameters,
  tokens,
  sequences,
  bytes,
  flops,
  seconds,
  ratio,  ///< fraction, printed as a percentage
  tokens_per_second,
  flops_per_byte,
  days,
  hours,
  kilowatt_hours,
  kilograms,
  dollars,
  bits
};

using Quantity = std::variant<Count, Flops, double, bool, std::string>;

/// exact_text(): "405,853,388,800"; human_text(): "405.85 B parameters", "754.9 GiB", "2.197 PFLOP", "4.08 ms", "54.6
/// %".
std::string exact_text(const Quantity& value);
std::string human_text(const Quantity& value, Unit unit);
std::string bytes_text(Bytes b);      ///< human_text() of bytes
std::string seconds_text(Seconds t);  ///< human_text() of seconds
/// human_text() without its last word, for columns with the unit in the heading: "405.9 B".
std::string short_text(const Quantity& value, Unit unit);

/// All digits of a 128-bit integer.
std::string digits(Int128 value);
/// The digits in groups of three: "1234567" becomes "1,234,567".
std::string grouped_digits(const std::string& digits);

}  // namespace llmcalc
