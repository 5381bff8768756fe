#include "serve/gap_bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

constexpr double first_bin = 1e-6, ratio = 1.01;
constexpr int unused_bits = 45;  ///< of 52 fraction bits
std::size_t cell_of(double gap) { return std::bit_cast<std::uint64_t>(gap) >> unused_bits; }
double lower_end(std::size_t cell) { return std::bit_cast<double>(std::uint64_t{cell} << unused_bits); }

std::size_t computed_bin(double gap) {
  static const double log_ratio = elementary::log(ratio);
  const double i = std::ceil(elementary::log(gap / first_bin) / log_ratio);
  return std::min(GapBins::size - 1, static_cast<std::size_t>(i));
}

}  // namespace

GapBins::GapBins() : ends_(size) {
  for (std::size_t i = 0; i < size; ++i) ends_[i] = first_bin * elementary::pow(ratio, static_cast<double>(i));
  std::uint16_t bin = 0;
  for (std::size_t cell = cell_of(first_bin); cell <= cell_of(ends_.back()); ++cell) {
    if (lower_end(cell) > ends_[bin]) ++bin;
    of_cell_.push_back(bin);
  }
}

const GapBins& GapBins::all() {
  static const GapBins bins;
  return bins;
}

std::size_t GapBins::of(double gap) const {
  constexpr double rounding = 1e-12;
  if (gap <= first_bin) return 0;
  const std::size_t cell = cell_of(gap) - cell_of(first_bin);
  if (cell >= of_cell_.size()) return size - 1;
  const std::size_t bin = of_cell_[cell];
  if (std::fabs(gap - ends_[bin]) < rounding * gap) return computed_bin(gap);
  return std::min(size - 1, gap > ends_[bin] ? bin + 1 : bin);
}

}  // namespace llmcalc
