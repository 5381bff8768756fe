#pragma once
/// General formulas: each distinct form once, for typical models and plans.

#include <optional>
#include <string>
#include <vector>

#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// One form of a formula, and the condition under which it applies.
struct Variant {
  std::string when;  ///< condition: "experts (Mixtral-8x7B)", "--recompute full"; empty: the usual case
  Formula formula;
  std::vector<Symbol> symbols;  ///< symbols without values
};

/// All forms of a formula. The first is for a model with grouped queries, a gated MLP and RMSNorm. `plans`: whether to
/// vary plans as well as models.
std::vector<Variant> variants(const Definition& d, bool plans);

}  // namespace llmcalc::explain
