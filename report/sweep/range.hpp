#pragma once
/// A range of numbers in the values of an option: "1..8" in steps of 1, "1..64x2" by factors, "8k..32k+8k" and
/// "0.1..0.9+0.2" in other steps.

#include <optional>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

struct NumberRange {
  Count first = 0, step = 1;  ///< first number and step, in units of 10^-places
  Count times = 1;  ///< factor; if above 1, each number is the previous one times this, and `step` is not used
  Count size = 0;
  int places = 0;  ///< number of decimal places

  /// The number at this index, in decimal digits.
  std::string text(Count index) const;
};

/// Absent for text that is not meant as a range. Throws InputError for a range without numbers, naming `where`.
std::optional<NumberRange> read_range(std::string_view text, std::string_view where);

}  // namespace llmcalc
