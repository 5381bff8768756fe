#pragma once
/// A value measured at points of one or more sizes, interpolated linearly.

#include <span>
#include <vector>

namespace llmcalc {

/// Points are sorted by their first size, and each value of the first size has a separate grid of the remaining
/// sizes. Between two values of a size, the results of their grids are interpolated linearly. Beyond the last value,
/// the line through the last two points is extended; below the first, the value at the first point applies.
class MeasuredGrid {
 public:
  /// Adds a point and its value. A point has at least one size, and all points have the same number of sizes. An
  /// existing point is replaced.
  void add(std::span<const double> sizes, double value);
  /// Value at these sizes. Precondition: the grid is not empty, and `sizes` has as many elements as each point.
  double at(std::span<const double> sizes) const;
  bool empty() const { return keys_.empty(); }
  /// Smallest value of the last size, above `x`, at which the slope along that size may change in the grids that at()
  /// uses for `others`. Infinity if there is no such value.
  double next_knot(std::span<const double> others, double x) const;

 private:
  struct Pair {
    std::size_t low, high;
    double share;  ///< interpolation weight of the higher key; above 1 in extrapolation
  };
  Pair around(double x) const;

  std::vector<double> keys_;         ///< sizes along this dimension, in ascending order
  std::vector<double> values_;       ///< values of the points, if points have one size
  std::vector<MeasuredGrid> below_;  ///< grids of the remaining sizes, if points have several
};

}  // namespace llmcalc
