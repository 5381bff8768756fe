#pragma once
/// The clock of a simulated server. It counts in integers, so a sum of pass times does not depend on the order of
/// addition or on the machine.

#include "calc/units.hpp"

namespace llmcalc {

using Ticks = __int128;  ///< attoseconds: a point in time or a duration

inline constexpr double ticks_per_second = 1e18;
/// A time later than all others: no event is due.
inline constexpr Ticks never = static_cast<Ticks>(1) << 120;

/// Converts seconds, from -1e17 to 1e17, to the nearest attosecond.
constexpr Ticks ticks(Seconds s) { return static_cast<Ticks>(s.value * ticks_per_second + (s.value < 0 ? -0.5 : 0.5)); }
constexpr Seconds seconds(Ticks t) { return Seconds(static_cast<double>(t) / ticks_per_second); }

}  // namespace llmcalc
