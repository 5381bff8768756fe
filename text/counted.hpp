#pragma once
/// Formatting of counts in sentences.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

/// A number and its noun, with a regular plural: "1 GPU", "8 GPUs".
inline std::string counted(Count n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

}  // namespace llmcalc
