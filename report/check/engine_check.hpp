#pragma once
/// The engine against the textbook: two roads to the same number, for every preset.

#include <string>
#include <vector>

#include "presets/model_card.hpp"

namespace llmcalc {

struct Difference {
  std::string subject, quantity, engine, textbook;
};

/// Every quantity that both roads know, for one model; what differs is appended. The number of comparisons made.
Count check_model(const ModelCard& card, std::vector<Difference>& differences);

}  // namespace llmcalc
