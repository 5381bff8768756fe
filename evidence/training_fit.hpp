#pragma once
/// Fits the parameters of the estimator of training to measured steps.
///
/// Least squares of ln(predicted / measured), by Levenberg and Marquardt's method with differences for derivatives.
/// A residual above 7 % counts by its size rather than by its square (soft L1), so that rows that the source
/// describes wrongly do not pull. A row weighs 1, 0.6 or 0.1 by its quality A, B or C, times 0.3 where an input had to
/// be assumed, over n^0.35 of the n rows of its family: families of a hundred sweeps of one run do not drown others.
/// Every parameter is pulled towards its default: by `ridge` residuals of 7 % per quarter of its range. It stays within
/// its bounds.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/training_case.hpp"
#include "presets/estimator.hpp"

namespace llmcalc {

/// A measured step that parameters are fitted to.
struct FitRow {
  std::string family;
  double weight = 1;
  TrainingCase c;
  TrainingStack stack;
};
/// The rows that have a time, thinned: no family has more than 80.
std::vector<FitRow> fit_rows(const std::vector<TrainingRow>& rows, const Devices& devices);

/// Seconds of a step under parameters.
Seconds estimated_step(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p);

struct FitOptions {
  double ridge = 1;
  std::vector<TrainingParameter> fixed{};  ///< that stay as they begin, also outside of their bounds
  int most_steps = 30;
  std::function<void(int step, double loss)> progress{};
};
/// A term of the estimator, and the values of its parameters that leave it out.
struct EstimatorTerm {
  std::string_view name, meaning;
  std::vector<std::pair<TrainingParameter, double>> left_out;
};
const std::vector<EstimatorTerm>& estimator_terms();

TrainingParameters fit(const std::vector<FitRow>& rows, const TrainingParameters& begin, const FitOptions& options);

}  // namespace llmcalc
