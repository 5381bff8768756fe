#pragma once
/// The most memory that activations of a rank take at once: kept for backward, and needed by a running chunk.

#include <span>

#include "calc/pipeline/order.hpp"

namespace llmcalc {

/// Bytes that a micro-batch takes in a model chunk.
struct ChunkKept {
  Bytes activations{};  ///< from its forward until its gradients of inputs are done
  Bytes for_weights{};  ///< the part of them, and of gradients, from then until its gradients of weights are done
  Bytes rest{};         ///< further bytes that the chunk needs while it runs
};

/// Micro-batches that a local chunk keeps something of.
struct KeptCount {
  Count activations = 0;  ///< between forward and gradients of inputs
  Count for_weights = 0;  ///< between gradients of inputs and of weights
  constexpr bool operator==(const KeptCount&) const = default;
};

/// The most bytes that a rank takes at once: what it keeps, and the rest of the chunk that needs most of those that
/// have a micro-batch between the begin of its forward and the end of its backward. A paired slot keeps both
/// micro-batches. `kept`: by model chunk. `counts`: lent by the caller, twice as many as local chunks; the first half
/// holds afterwards what is kept at that moment (the first such), by local chunk.
Bytes most_kept(const Pipeline& p, Count rank, std::span<const ChunkKept> kept, std::span<KeptCount> counts);

/// The same for a list of slots of a rank, in their order: for automatic schedules, MakespanRoom::slots.
Bytes most_kept(const Pipeline& p, Count rank, std::span<const Slot> slots, std::span<const ChunkKept> kept,
                std::span<KeptCount> counts);

}  // namespace llmcalc
