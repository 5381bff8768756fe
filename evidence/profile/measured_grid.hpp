#pragma once
/// A number that was measured at points of one size or of several: linear between neighbours.

#include <span>
#include <vector>

namespace llmcalc {

/// Points by their first size, and for each of its values a grid of the rest, which may have other values than the next
/// one's. Between two values of a size both grids are asked, and what they say is mixed by the distance. Beyond the
/// last value the line through the last two goes on; before the first it is as at the first.
class MeasuredGrid {
 public:
  /// Adds a point: its sizes, at least one and as many for all, and what was measured there; a point that is there
  /// already is replaced.
  void add(std::span<const double> sizes, double value);
  /// Precondition: it has a point, and `sizes` are as many as a point has.
  double at(std::span<const double> sizes) const;
  bool empty() const { return keys_.empty(); }
  /// The least value of the last size above `x` at which the slope along it may change, of the grids that at() asks for
  /// these other sizes; infinite: there is none.
  double next_knot(std::span<const double> others, double x) const;

 private:
  struct Pair {
    std::size_t low, high;
    double share;  ///< of the higher one; above 1: beyond the last
  };
  Pair around(double x) const;

  std::vector<double> keys_;         ///< ascending
  std::vector<double> values_;       ///< of one size
  std::vector<MeasuredGrid> below_;  ///< of several
};

}  // namespace llmcalc
