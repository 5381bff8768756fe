#pragma once
/// Fits the parameters of an estimator to measurements.
///
/// Least squares of ln(predicted / measured), by Levenberg and Marquardt's method with differences for derivatives.
/// A residual above the width of the loss (7 % or 5 %) counts by its size rather than by its square (soft L1), or by
/// its logarithm alone (Cauchy), so that rows that the source describes wrongly do not pull. Cauchy's loss has several
/// minima: a fit with it begins where one with soft L1 ends. A family has at most 80 rows in a fit, and its n rows
/// weigh over n^0.35: families of a hundred sweeps of one run do not drown others. Every parameter is pulled towards
/// its default: by `ridge` residuals of that width per quarter of its range. It stays within its bounds.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "presets/estimators/estimate.hpp"

namespace llmcalc {

/// A row's key in a FitSet.
inline std::string fit_key(const std::string& id, std::string_view quantity) {
  return id + " " + std::string(quantity);
}

/// The loss of a residual of r times the width a.
enum class FitLoss {
  soft_l1,  ///< 2 a^2 (sqrt(1 + r^2) - 1)
  cauchy    ///< a^2 ln(1 + r^2)
};

/// Measurements that parameters are fitted to.
struct FitSet {
  std::span<const ParameterCard> cards;
  std::vector<std::string> keys{};      ///< of each row: its id and quantity
  std::vector<std::string> families{};  ///< the same
  std::vector<double> weights{};        ///< the same; 0: a fit passes over it
  FitLoss loss = FitLoss::soft_l1;
  double width = 0.07;  ///< of the loss, in ln(predicted / measured)
  /// ln(predicted / measured) of a row under values of the parameters. Called from two threads at once.
  std::function<double(std::size_t row, std::span<const double> values)> error{};
};

/// Errors around some values, linear in the parameters.
struct LinearErrors {
  std::vector<double> values;
  std::vector<double> errors;  ///< of each row of a set; 0 for those without a weight
  std::vector<std::vector<double>>
      derivatives;  ///< by parameter: of each row, by its fraction of the parameter's range
};

struct FitOptions {
  double ridge = 1;
  std::vector<std::size_t> fixed{};  ///< parameters that stay as they begin, also outside of their bounds
  std::vector<bool> without{};       ///< rows that are left out; empty: none
  int most_steps = 100;
  const LinearErrors* linear = nullptr;  ///< in place of FitSet::error
  std::function<void(int step, double loss)> progress{};
};

/// Leaves every n-th row of a family its weight, so that at most 80 have one, and divides the weights by n^0.35.
void weigh_families(FitSet& set);

/// The errors of the rows that a fit sees, and what they are near `values`.
LinearErrors linear_errors(const FitSet& set, std::span<const double> values);

/// The fitted values, from those to begin with, which are near.
std::vector<double> fit(const FitSet& set, std::span<const double> begin, const FitOptions& options);

/// The same from values that need not be near.
std::vector<double> fit_from_afar(const FitSet& set, std::span<const double> begin, const FitOptions& options);

}  // namespace llmcalc
