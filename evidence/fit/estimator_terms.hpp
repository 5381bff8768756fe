#pragma once
/// Terms of the estimators. Leaving one out shows its effect.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// A term, and the values of its parameters (by index in the cards) that leave it out.
struct EstimatorTerm {
  std::string_view name, meaning;
  std::vector<std::pair<std::size_t, double>> left_out;
};
/// Empty for kinds without a fitted estimator of several terms.
std::span<const EstimatorTerm> estimator_terms(AccuracyKind kind);

}  // namespace llmcalc
