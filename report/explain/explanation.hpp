#pragma once
/// One quantity explained: the formula in symbols, their meanings and values, the formula with numbers, the result.

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
  std::vector<Symbol> symbols;  ///< symbols in order of appearance
  std::vector<Piece> numbers;   ///< the formula with values substituted
  Row answer;                   ///< the report's row
  EstimateTerms estimate{};     ///< parameters of an estimated time
};

/// Absent if the report of this setting has no such row.
std::optional<Explanation> explanation(const Setting& s, const Definition& d);

/// The definitions for "memory.peak_bytes", "peak_bytes", "memory" or "all". Throws InputError, which lists the nearest
/// names, for other names.
std::vector<const Definition*> named(std::string_view quantity);
bool is_quantity(std::string_view quantity);  ///< whether a path, a section or the last part of a path has this name

}  // namespace llmcalc::explain
