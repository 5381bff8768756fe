#pragma once
/// Search for the first number that satisfies a condition.

#include <algorithm>
#include <optional>

#include "calc/units.hpp"

namespace llmcalc {

inline constexpr Count longest_searched = Count{1} << 28;  ///< tokens; no count of a flash attention pass overflows

/// The smallest n in [1, most] with holds(n), for a monotonic condition; absent: none.
template <typename Condition>
std::optional<Count> first(Count most, const Condition& holds) {
  if (!holds(most)) return std::nullopt;
  Count low = 0, high = 1;
  while (!holds(high)) {
    low = high;
    high = std::min(2 * high, most);
  }
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace llmcalc
