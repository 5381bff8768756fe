#pragma once
/// Where the seconds of an inference pass go.

#include "calc/spent.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// Seconds of one pass of inference by kind of work and of exchange, as estimated; bounds where there is no estimate.
struct PassSpent {
  Spent parts;     ///< of operators, their launches (Part::host), and exchanges by kind of parallelism
  Seconds engine;  ///< of the engine's loop around the pass
  Seconds total() const { return parts.total() + engine; }
};

/// The parts of pass_time(), which they add up to, from the rows of a pass. Precondition: a roofline of operators
/// (Roofline::op), which tells them apart.
PassSpent pass_spent(const Prices& prices, const Layout& layout, const Cluster& cluster);

}  // namespace llmcalc
