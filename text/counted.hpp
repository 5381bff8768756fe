#pragma once
/// Counts in sentences.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

/// "1 GPU", "8 GPUs": a number and its noun, with a regular plural.
inline std::string counted(Count n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace llmcalc
