#pragma once
/// Fit of an estimator's parameters to measurements.
///
/// Least squares of ln(predicted / measured) by the Levenberg-Marquardt method with finite differences. A residual
/// above the width of the loss (7 % or 5 %) counts by its size rather than its square (soft L1), or only by its
/// logarithm (Cauchy), to limit the influence of rows that the source describes wrongly. Cauchy's loss has several
/// minima, so a fit with it starts at the result with soft L1. At most 80 rows of a family are used, and the weights of
/// its n rows are divided by n^0.35, so that a family with a hundred sweeps of one run does not dominate. Every
/// parameter is pulled toward its default: by `ridge` residuals of that width per quarter of its range. It stays
/// within its bounds.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "presets/estimators/estimate.hpp"

namespace llmcalc {

/// Key of a row in a FitSet.
inline std::string fit_key(const std::string& id, std::string_view quantity) {
  return id + " " + std::string(quantity);
}

/// Loss of a residual of r times the width a.
enum class FitLoss {
  soft_l1,  ///< 2 a^2 (sqrt(1 + r^2) - 1)
  cauchy    ///< a^2 ln(1 + r^2)
};

/// Measurements to which parameters are fitted.
struct FitSet {
  std::span<const ParameterCard> cards;
  std::vector<std::string> keys{};      ///< by row: its id and quantity
  std::vector<std::string> families{};  ///< by row
  std::vector<double> weights{};        ///< by row; 0: not used in a fit
  FitLoss loss = FitLoss::soft_l1;
  double width = 0.07;  ///< of the loss, in ln(predicted / measured)
  /// ln(predicted / measured) of a row for parameter values. Called concurrently from two threads.
  std::function<double(std::size_t row, std::span<const double> values)> error{};
};

/// Errors around given parameter values, linearized in the parameters.
struct LinearErrors {
  std::vector<double> values;
  std::vector<double> errors;  ///< by row of a set; 0 for rows without a weight
  std::vector<std::vector<double>>
      derivatives;  ///< by parameter, then by row; with respect to fractions of the parameter's range
};

struct FitOptions {
  double ridge = 1;
  std::vector<std::size_t> fixed{};  ///< parameters that keep their initial value, even outside their bounds
  std::vector<bool> without{};       ///< rows that are left out; empty: all rows are used
  int most_steps = 100;
  const LinearErrors* linear = nullptr;  ///< replaces FitSet::error
  std::function<void(int step, double loss)> progress{};
};

/// Keeps the weights of at most 80 evenly spaced rows of a family, divided by n^0.35 for n such rows; all other rows
/// get weight 0.
void weigh_families(FitSet& set);

/// Errors of the rows used in a fit, and their derivatives at `values`.
LinearErrors linear_errors(const FitSet& set, std::span<const double> values);

/// Fitted values, starting from nearby values.
std::vector<double> fit(const FitSet& set, std::span<const double> begin, const FitOptions& options);

/// Fitted values, starting from values that may be far from the optimum.
std::vector<double> fit_from_afar(const FitSet& set, std::span<const double> begin, const FitOptions& options);

}  // namespace llmcalc
