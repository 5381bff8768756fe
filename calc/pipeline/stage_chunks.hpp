#pragma once
/// The chunks of a stage, and the micro-batches that it keeps of each.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

/// Those of rank `rank` of the pipeline at its worst moment, in the order of the model: what stage() counts.
std::vector<ChunkInFlight> chunks_in_flight(const Prices& prices, const Plan& plan, const Layout& layout,
                                            const Partition& partition, Count rank);

}  // namespace llmcalc
