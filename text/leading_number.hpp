#pragma once
/// Parsing of numbers in strings of known form. Never throws.

#include <string>

#include "calc/units.hpp"

namespace llmcalc {

/// The integer at the beginning of a string, after optional spaces: 0 if absent, the largest Count on overflow.
Count leading_whole(const std::string& text, int base = 10);

/// The number at the beginning of a string, as parsed by C: 0 if absent, infinity on overflow.
double leading_real(const std::string& text);

}  // namespace llmcalc
