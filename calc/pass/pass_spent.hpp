#pragma once
/// Breakdown of the time of an inference pass.

#include "calc/spent.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// Seconds of one inference pass by kind of work and communication: estimates if available, otherwise bounds.
struct PassSpent {
  Spent parts;     ///< operators, their launches (Part::host), and communication by kind of parallelism
  Seconds engine;  ///< the serving engine's loop around the pass
  Seconds total() const { return parts.total() + engine; }
};

/// Splits pass_time() into parts, from the rows of a pass. Precondition: a roofline per operator (Roofline::op), which
/// separates the parts.
PassSpent pass_spent(const Prices& prices, const Layout& layout, const Cluster& cluster);

}  // namespace llmcalc
