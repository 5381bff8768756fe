#pragma once
/// Terms of the estimators, which can be left out to see what they explain.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// A term, and the values of its parameters (by their place in the cards) that leave it out.
struct EstimatorTerm {
  std::string_view name, meaning;
  std::vector<std::pair<std::size_t, double>> left_out;
};
/// Empty for what has no fitted estimator of several terms.
std::span<const EstimatorTerm> estimator_terms(AccuracyKind kind);

}  // namespace llmcalc
