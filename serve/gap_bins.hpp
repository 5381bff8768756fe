#pragma once
/// Bins of the histogram of times between tokens. They start at 1 us; each ends 1 % above the previous one.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmcalc {

/// The bins, found by a table of cells. A cell is a range of gaps whose binary exponents and first seven fraction bits
/// are equal. It is narrower than a bin, so its gaps fall into the bin of its lower end or the next.
class GapBins {
 public:
  static constexpr std::size_t size = 2048;
  static const GapBins& all();
  /// Upper end of a bin in seconds.
  double end(std::size_t bin) const { return ends_[bin]; }
  /// The bin of a gap in seconds. Looks it up, except that the bin is computed if the gap is at an end within rounding.
  std::size_t of(double gap) const;

 private:
  GapBins();

  std::vector<double> ends_;
  std::vector<std::uint16_t> of_cell_;  ///< bin of the lower end of each cell, from the cell of 1 us on
};

}  // namespace llmcalc
