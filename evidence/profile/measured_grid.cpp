#include "evidence/profile/measured_grid.hpp"

#include <algorithm>
#include <limits>

namespace llmcalc {

void MeasuredGrid::add(std::span<const double> sizes, double value) {
  const auto key = std::lower_bound(keys_.begin(), keys_.end(), sizes[0]);
  const auto at = key - keys_.begin();
  const bool is_new = key == keys_.end() || *key != sizes[0];
  const bool last = sizes.size() == 1;
  if (is_new) {
    keys_.insert(key, sizes[0]);
    if (last)
      values_.insert(values_.begin() + at, value);
    else
      below_.emplace(below_.begin() + at);
  }
  if (last)
    values_[static_cast<std::size_t>(at)] = value;
  else
    below_[static_cast<std::size_t>(at)].add(sizes.subspan(1), value);
}

MeasuredGrid::Pair MeasuredGrid::around(double x) const {
  const auto above = std::lower_bound(keys_.begin(), keys_.end(), x);
  if (above == keys_.begin() || keys_.size() == 1) return {0, 0, 0};
  const auto high = std::min(static_cast<std::size_t>(above - keys_.begin()), keys_.size() - 1);
  return {high - 1, high, (x - keys_[high - 1]) / (keys_[high] - keys_[high - 1])};
}

double MeasuredGrid::at(std::span<const double> sizes) const {
  const Pair p = around(sizes[0]);
  const auto value = [&](std::size_t i) { return sizes.size() == 1 ? values_[i] : below_[i].at(sizes.subspan(1)); };
  if (p.share == 1) return value(p.high);
  const double low = value(p.low);
  return p.low == p.high ? low : low + p.share * (value(p.high) - low);
}

double MeasuredGrid::next_knot(std::span<const double> others, double x) const {
  if (others.empty()) {
    const auto above = std::upper_bound(keys_.begin(), keys_.end(), x);
    return above == keys_.end() ? std::numeric_limits<double>::infinity() : *above;
  }
  const Pair p = around(others[0]);
  return std::min(below_[p.low].next_knot(others.subspan(1), x), below_[p.high].next_knot(others.subspan(1), x));
}

}  // namespace llmcalc
