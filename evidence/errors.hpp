#pragma once
/// Errors of predictions relative to measurements.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// A prediction and its measurement, in the same unit.
struct Compared {
  std::string group;  ///< the family, or another property by which figures are grouped
  double predicted = 0, measured = 0;
  std::optional<double> low, high;  ///< predicted interval
};

/// (predicted - measured) / measured: -0.1 for a prediction 10 % too low.
double relative_error(const Compared& c);
/// Whether the measurement lies within the predicted interval, including its ends. Empty if there is no interval.
std::optional<bool> is_covered(const Compared& c);

/// Interval score of a 90 % interval of ln x: its width, plus 20 times the distance of a measurement outside of it
/// (Gneiting & Raftery 2007, "Strictly Proper Scoring Rules, Prediction, and Estimation", eq. 43). Lower is better.
/// Empty if there is no interval, or if it begins at 0.
std::optional<double> interval_score(const Compared& c);

/// Errors as fractions. All are absolute errors except `signed_median`.
struct ErrorSummary {
  Count rows = 0;
  double median = 0, mean = 0, p90 = 0, worst = 0, signed_median = 0;
  std::optional<double> coverage;        ///< fraction of the intervals that cover their measurement
  std::optional<double> interval_score;  ///< mean of interval_score()
};

/// q-quantile of n values, interpolated linearly between the order statistics around (n - 1) q. Precondition: n > 0.
double quantile(std::vector<double> values, double q);

/// Interval width (ln of a factor) whose coverage of several groups' errors is as close to the fraction `q` as
/// possible. The weight of a group of n errors is n^power: with power 0, all groups have equal weights. Because errors
/// shift between fits, the width ends halfway between the
/// last covered error and the next one, but at most 0.01 above the last covered error. Precondition: at least one
/// group, and no empty group.
double covering_width(const std::map<std::string, std::vector<double>>& errors, double q, double power = 0);

/// Summary with equal weight for every row. All 0 if there are no rows.
ErrorSummary summary(std::span<const Compared> rows);
/// One summary per group.
std::map<std::string, ErrorSummary> summary_by_group(std::span<const Compared> rows);
/// Summary with equal weight for every group, computed from the groups' medians, signed medians and coverages (mean,
/// p90 and worst are taken over the medians). `rows` is the number of groups.
ErrorSummary summary_of_groups(std::span<const Compared> rows);

}  // namespace llmcalc
