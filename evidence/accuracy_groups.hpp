#pragma once
/// Errors over all rows, by family, and by properties that may affect the error.

#include <string>
#include <vector>

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// Errors of a group of rows.
struct ErrorGroup {
  std::string by;    ///< grouping property: "family", "gpu", "parallelism", "precision", "stack" or "engine",
                     ///< "class", "quantity"
  std::string name;  ///< a value of `by`
  ErrorSummary errors;
  /// Label of the group: "gpu: h100-sxm-80gb"; "all rows" if `by` is empty.
  std::string text() const { return by.empty() ? name : by + ": " + name; }
};

/// Minimum number of rows for a family to count in the summary over families.
inline constexpr Count least_of_family = 3;

/// Errors of all rows, then of the families with at least `least_of_family` rows (equally weighted), then of the
/// groups by each property, largest group first. Empty if no row counts.
std::vector<ErrorGroup> error_groups(const Accuracy& a);

}  // namespace llmcalc
