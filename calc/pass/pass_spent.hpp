#pragma once
/// Breakdown of the time of an inference pass.

#include "calc/pipeline/chunk.hpp"
#include "calc/spent.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// Seconds of one inference pass by kind of work and communication: estimates if available, otherwise bounds.
struct PassSpent {
  Spent parts;     ///< operators, their launches (Part::host), and communication by kind of parallelism
  Seconds engine;  ///< the serving engine's overhead per pass
  Seconds total() const { return parts.total() + engine; }
};

/// Splits the pass_time() of a chunk into parts. Precondition: a roofline per operator (Roofline::op), which
/// separates the parts.
PassSpent pass_spent(const Prices& prices, const ModelChunk& chunk, const Plan& plan, const Layout& layout,
                     const Cluster& cluster);

}  // namespace llmcalc
