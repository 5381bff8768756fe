#pragma once
/// ALiBi: positions as a penalty on distance.

#include <cmath>

#include "calc/units.hpp"
#include "model/math/host_device.hpp"

namespace llmcalc::model {

/// ALiBi slope of head h (Press et al. 2021, arXiv:2108.12409): 2^(-8 (h + 1)/n) for n heads; if n is not a power of
/// two, the slopes for the next lower power of two, followed by every other slope for the next higher one.
LLMCALC_HD inline double alibi_slope(Count heads, Count h) {
  Count power = 1;
  while (2 * power <= heads) power *= 2;
  const double step = 8.0 / static_cast<double>(power);
  const double n = h < power ? static_cast<double>(h + 1) * step : static_cast<double>(2 * (h - power) + 1) * step / 2;
  return std::exp2(-n);
}

}  // namespace llmcalc::model
