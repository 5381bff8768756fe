#pragma once
/// Rules of thumb from papers, for comparison with the exact formulas. Only shown in the cheat sheet, not used
/// elsewhere.

#include <span>
#include <string_view>

namespace llmcalc::explain {

struct Rule {
  std::string_view title, expression, unit, source;
};

std::span<const Rule> rules();

}  // namespace llmcalc::explain
