#pragma once
/// Terms of the estimators. A fit can omit a term to show its effect.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// A term, and the parameter values (by index in the cards) that disable it.
struct EstimatorTerm {
  std::string_view name, meaning;
  std::vector<std::pair<std::size_t, double>> left_out;
};
/// Terms of the estimator for a kind of prediction; empty if that kind has no fitted estimator with several terms.
std::span<const EstimatorTerm> estimator_terms(AccuracyKind kind);

}  // namespace llmcalc
