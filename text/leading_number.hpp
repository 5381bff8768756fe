#pragma once
/// Numbers of texts whose form is known, without an exception for any other.

#include <string>

#include "calc/units.hpp"

namespace llmcalc {

/// The whole number at the beginning of a text, behind spaces: 0 where there is none, the largest Count where it is
/// larger.
Count leading_whole(const std::string& text, int base = 10);

/// The number at the beginning of a text, as C reads it: 0 where there is none, infinity where no double holds it.
double leading_real(const std::string& text);

}  // namespace llmcalc
