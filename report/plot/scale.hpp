#pragma once
/// Positions of values along an axis, and its labeled ticks.

#include <string>
#include <vector>

#include "report/plot/chart.hpp"

namespace llmcalc::plot {

/// Maps values between `low` and `high` to 0 to 1.
class Scale {
 public:
  /// Covers the finite `values` (for a logarithmic axis, those above 0).
  Scale(const Axis& axis, const std::vector<double>& values);
  /// Position of a value; absent if the axis cannot show it.
  std::optional<double> at(double value) const;
  /// About `n` round values within the axis.
  std::vector<double> ticks(int n) const;
  /// A tick or value as text: "16 GiB", "2 s".
  std::string text(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  std::vector<double> powers(int n) const;

  Axis axis_;
  double low_ = 0, high_ = 1;
};

}  // namespace llmcalc::plot
