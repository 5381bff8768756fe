#pragma once
/// Checks the engine against textbook formulas for every preset: both must compute the same values.

#include <string>
#include <vector>

#include "presets/model_card.hpp"

namespace llmcalc {

struct Difference {
  std::string subject, quantity, engine, textbook;
};

/// Compares, for one model, every quantity that both engine and textbook compute. Appends the differences; returns the
/// number of comparisons.
Count check_model(const ModelCard& card, std::vector<Difference>& differences);

}  // namespace llmcalc
