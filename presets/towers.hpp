#pragma once
/// Towers beside a text model: what turns images or sounds into rows of its input.

#include "calc/units.hpp"

namespace llmcalc {

/// Parameters of each part, as a checkpoint holds them; 0: there is none. A merger inside the tower's module counts
/// with the tower; the projector is what stands between the two.
struct Towers {
  Count vision = 0, audio = 0, projector = 0;

  constexpr Count total() const { return add(add(vision, audio), projector); }
  constexpr bool operator==(const Towers&) const = default;
};

}  // namespace llmcalc
