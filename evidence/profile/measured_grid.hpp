#pragma once
/// A value measured at points of one or more sizes, interpolated linearly.

#include <span>
#include <vector>

namespace llmcalc {

/// Points are sorted by their first size, and each value of the first size has a separate grid of the remaining sizes.
/// Between two values of a size, the results of both grids are interpolated linearly. Beyond the last value, the line
/// through the last two is extended; below the first, the value at the first applies.
class MeasuredGrid {
 public:
  /// Adds a point: its sizes (at least one, the same number for all points) and its value. Replaces an existing point.
  void add(std::span<const double> sizes, double value);
  /// Value at these sizes. Precondition: the grid is not empty, and `sizes` has as many elements as a point.
  double at(std::span<const double> sizes) const;
  bool empty() const { return keys_.empty(); }
  /// Smallest value above `x` of the last size at which the slope along this size may change, in the grids that at()
  /// uses for `others`; infinity if there is none.
  double next_knot(std::span<const double> others, double x) const;

 private:
  struct Pair {
    std::size_t low, high;
    double share;  ///< weight of the higher key; above 1 beyond the last key
  };
  Pair around(double x) const;

  std::vector<double> keys_;         ///< ascending
  std::vector<double> values_;       ///< if points have one size
  std::vector<MeasuredGrid> below_;  ///< if points have several sizes
};

}  // namespace llmcalc
