#pragma once
/// Checks the engine against textbook formulas, two ways to the same number, for every preset.

#include <string>
#include <vector>

#include "presets/model_card.hpp"

namespace llmcalc {

struct Difference {
  std::string subject, quantity, engine, textbook;
};

/// Compares every quantity that both ways compute for one model; appends the differences. Returns the number compared.
Count check_model(const ModelCard& card, std::vector<Difference>& differences);

}  // namespace llmcalc
