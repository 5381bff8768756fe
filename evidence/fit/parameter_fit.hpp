#pragma once
/// Fit of an estimator's parameters to measurements.
///
/// Least squares of ln(predicted / measured) by the Levenberg-Marquardt method with finite differences. A residual
/// above the width of the loss (7 % or 5 %) contributes linearly (soft L1) or logarithmically (Cauchy) rather than
/// quadratically, which limits the influence of rows that their source describes wrongly. Cauchy's loss has several
/// minima, so a fit with it starts at the result with soft L1. At most 80 rows of a family are used, and the weights
/// of its n rows are divided by n^0.35, which keeps a family with a hundred sweeps of one run from dominating. Every
/// parameter stays within its bounds and is pulled toward its default: a distance of a quarter of its range counts as
/// much as `ridge` residuals of that width.

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
  std::vector<std::string> keys{};      ///< id and quantity of each row
  std::vector<std::string> families{};  ///< family of each row
  std::vector<double> weights{};        ///< weight of each row; 0 excludes it from the fit
  FitLoss loss = FitLoss::soft_l1;
  double width = 0.07;  ///< width of the loss, in units of ln(predicted / measured)
  /// ln(predicted / measured) of a row for parameter values. Called concurrently from two threads.
  std::function<double(std::size_t row, std::span<const double> values)> error{};
  /// Whether a row has the same error for two sets of values, if that is known without computing the error. Optional.
  std::function<bool(std::size_t row, std::span<const double> a, std::span<const double> b)> same{};
};

/// Errors near specific parameter values, linearized in the parameters.
struct LinearErrors {
  std::vector<double> values;
  std::vector<double> errors;  ///< error of each row of a set; 0 for rows without a weight
  std::vector<std::vector<double>>
      derivatives;  ///< derivatives by parameter, then by row; with respect to fractions of the parameter's range
};

struct FitOptions {
  double ridge = 1;
  std::vector<std::size_t> fixed{};  ///< parameters that keep their initial value, even outside their bounds
  std::vector<bool> without{};       ///< which rows are excluded; empty: all rows are used
  int most_steps = 100;
  const LinearErrors* linear = nullptr;  ///< if not null, used instead of FitSet::error
  std::function<void(int step, double loss)> progress{};
};

/// In each family, keeps at most 80 evenly spaced rows and sets the weights of all other rows to 0. Divides the weights
/// of the n kept rows by n^0.35.
void weigh_families(FitSet& set);

/// Errors at `values` of the rows used in a fit, and their derivatives.
LinearErrors linear_errors(const FitSet& set, std::span<const double> values);

/// Fitted values. `begin` must be near the optimum.
std::vector<double> fit(const FitSet& set, std::span<const double> begin, const FitOptions& options);

/// Fitted values. `begin` may be far from the optimum.
std::vector<double> fit_from_afar(const FitSet& set, std::span<const double> begin, const FitOptions& options);

}  // namespace llmcalc
