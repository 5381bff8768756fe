#pragma once
/// 256 values in [-1, 1] or [0, 1], densest where most moments lie: decades 10^-6 to 1, each with twice as many values
/// as the next lower one (dynamic tree quantization, arXiv:2110.02861, 2.1).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "calc/units.hpp"

namespace llmcalc::model {

class DynamicCodes {
 public:
  static const DynamicCodes& with_signs() {
    static const DynamicCodes codes(true);
    return codes;
  }
  static const DynamicCodes& without_signs() {
    static const DynamicCodes codes(false);
    return codes;
  }

  float value(std::uint8_t code) const { return values_[code]; }
  /// Code of the nearest value; the lower one if tied.
  std::uint8_t code(float x) const {
    const auto above = std::lower_bound(values_.begin(), values_.end(), x);
    if (above == values_.begin()) return 0;
    if (above == values_.end()) return 255;
    const auto at = static_cast<std::uint8_t>(above - values_.begin());
    return x - values_[at - 1U] <= values_[at] - x ? static_cast<std::uint8_t>(at - 1U) : at;
  }

 private:
  /// Decade d (0 is the lowest) contains the scaled midpoints of 2^d equal parts of [0.1, 1], or of twice as many
  /// parts if there are no signs. 0 and 1 are added.
  explicit DynamicCodes(bool with_signs) {
    std::size_t n = 0;
    for (int decade = 0; decade < 7; ++decade) {
      const int parts = (with_signs ? 1 : 2) << decade;
      for (int i = 0; i < parts; ++i) {
        const double x = (0.1 + 0.9 * (i + 0.5) / parts) * std::pow(10.0, decade - 6);
        values_[n++] = static_cast<float>(x);
        if (with_signs) values_[n++] = static_cast<float>(-x);
      }
    }
    values_[n++] = 0;
    values_[n] = 1;
    std::sort(values_.begin(), values_.end());
  }
  std::array<float, 256> values_{};
};

}  // namespace llmcalc::model
