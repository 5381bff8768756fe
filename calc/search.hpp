#pragma once
/// Search for the first number that satisfies a condition.

#include <algorithm>
#include <optional>

#include "calc/units.hpp"

namespace llmcalc {

/// Maximum number of tokens in a search. Up to this length, the counts of passes with flash attention do not
/// overflow.
inline constexpr Count longest_searched = Count{1} << 28;

/// The smallest n in [1, most] that satisfies a monotonic condition, if any. The search moves away from `guess` in
/// doubling steps, so a good guess needs few evaluations.
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
