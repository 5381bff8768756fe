#pragma once
/// How far predictions are from measurements.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// One prediction beside its measurement, in the same unit.
struct Compared {
  std::string group;  ///< the family, or whatever figures are put together by
  double predicted = 0, measured = 0;
  std::optional<double> low, high;  ///< the interval that was predicted
};

/// (predicted - measured) / measured: -0.1 is a prediction 10 % below.
double relative_error(const Compared& c);
/// Whether the measurement lies in the predicted interval, its ends included; nothing where there is none.
std::optional<bool> is_covered(const Compared& c);

/// Errors as fractions; all but `signed_median` without their sign.
struct ErrorSummary {
  Count rows = 0;
  double median = 0, mean = 0, p90 = 0, worst = 0, signed_median = 0;
  std::optional<double> coverage;  ///< share of those with an interval that it covers
};

/// The q-quantile of numbers: between the order statistics around (n - 1) q, linearly. Precondition: not empty.
double quantile(std::vector<double> values, double q);

/// A width (ln of a factor) that covers a share of the errors of several groups as near to `q` as they allow, every
/// group counting the same. It ends half-way between the last error that it covers and the next, at most a hundredth
/// above the former: errors move from fit to fit. Precondition: no group is empty, and there is one.
double covering_width(const std::map<std::string, std::vector<double>>& errors, double q);

/// Every row counts the same. Nothing compared: all 0.
ErrorSummary summary(std::span<const Compared> rows);
/// The same for each group.
std::map<std::string, ErrorSummary> summary_by_group(std::span<const Compared> rows);
/// Every group counts the same: the summary of the groups' medians (mean, p90 and worst of them, too), of their signed
/// medians and of their coverages. `rows` is the number of groups.
ErrorSummary summary_of_groups(std::span<const Compared> rows);

}  // namespace llmcalc
