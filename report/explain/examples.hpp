#pragma once
/// A formula in general: what it is for typical models and plans, each way of writing it once.

#include <optional>
#include <string>
#include <vector>

#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// One way that a formula can look, and when.
struct Variant {
  std::string when;  ///< "experts (Mixtral-8x7B)", "--recompute full"; empty: usually
  Formula formula;
  std::vector<Symbol> symbols;  ///< without values
};

/// The first is that of a model with grouped queries, a gated MLP and RMSNorm. `plans`: other plans too, not only other
/// models.
std::vector<Variant> variants(const Definition& d, bool plans);

}  // namespace llmcalc::explain
