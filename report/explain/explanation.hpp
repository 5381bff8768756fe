#pragma once
/// One quantity explained: the formula in symbols, what they mean and are worth, the numbers put in, the result.

#include <optional>
#include <string>
#include <vector>

#include "report/explain/definition.hpp"
#include "report/explain/estimate_terms.hpp"
#include "report/report.hpp"

namespace llmcalc::explain {

struct Explanation {
  const Definition* definition = nullptr;
  Formula formula;
  std::vector<Symbol> symbols;  ///< in order of appearance
  std::vector<Piece> numbers;   ///< the formula with the values put in
  Row answer;                   ///< the report's row
  EstimateTerms estimate{};     ///< the parameters behind it, where it is an estimated time
};

/// Nothing if the report of this setting has no such row.
std::optional<Explanation> explanation(const Setting& s, const Definition& d);

/// The definitions that a user means by "memory.peak_bytes", "peak_bytes", "memory" or "all". Throws InputError for
/// others, with the nearest names.
std::vector<const Definition*> named(std::string_view quantity);
bool is_quantity(std::string_view quantity);  ///< named() knows it

}  // namespace llmcalc::explain
