#pragma once
/// Rules of thumb: what the seeds and papers print, next to the exact formulas. They are told in the cheat sheet and
/// used nowhere.

#include <span>
#include <string_view>

namespace llmcalc::explain {

struct Rule {
  std::string_view title, expression, unit, source;
};

std::span<const Rule> rules();

}  // namespace llmcalc::explain
