#pragma once
/// Search for the first number that satisfies a condition.

#include <algorithm>
#include <optional>

#include "calc/units.hpp"

namespace llmcalc {

inline constexpr Count longest_searched = Count{1} << 28;  ///< tokens; no count of a flash attention pass overflows

/// The smallest n in [1, most] with holds(n), for a monotonic condition; absent: none. The search leaves `guess` in
/// steps that double, so that a good one costs few trials.
template <typename Condition>
std::optional<Count> first(Count most, const Condition& holds, Count guess = 1) {
  if (!holds(most)) return std::nullopt;
  Count low = 0, high = most;  // holds(high), not holds(low)
  Count n = std::clamp<Count>(guess, 1, most);
  for (Count step = 1; low < n && n < high; step *= 2) {
    (holds(n) ? high : low) = n;
    n = high == n ? n - step : n + step;
  }
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace llmcalc
