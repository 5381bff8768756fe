#pragma once
/// Errors put together: all of them, by family, and by what they may depend on.

#include <string>
#include <vector>

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// The errors of some rows.
struct ErrorGroup {
  std::string by;    ///< "family", "gpu", "parallelism", "precision", "stack" or "engine", "class", "quantity"
  std::string name;  ///< one of them
  ErrorSummary errors;
  /// "gpu: h100-sxm-80gb"; "all rows", where it is put together by nothing.
  std::string text() const { return by.empty() ? name : by + ": " + name; }
};

/// Rows that a family must have to count among families.
inline constexpr Count least_of_family = 3;

/// All rows; the families of at least that many rows, each counting the same; then every kind of group, that with the
/// most rows first. Empty: no row counts.
std::vector<ErrorGroup> error_groups(const Accuracy& a);

}  // namespace llmcalc
