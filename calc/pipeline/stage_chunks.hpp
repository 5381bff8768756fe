#pragma once
/// The chunks of a stage, and the number of micro-batches in flight in each.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

/// Chunks of rank `rank` of the pipeline at its peak, in model order, as counted by stage().
std::vector<ChunkInFlight> chunks_in_flight(const Prices& prices, const Plan& plan, const Layout& layout,
                                            const Partition& partition, Count rank);

}  // namespace llmcalc
