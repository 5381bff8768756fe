#pragma once
/// Peak activation memory of a rank: tensors saved for backward, and tensors needed by a running chunk.

#include <span>

#include "calc/pipeline/order.hpp"

namespace llmcalc {

/// Bytes of a micro-batch in a chunk.
struct ChunkSaved {
  Bytes activations{};  ///< bytes held from its forward until its input gradients are done
  Bytes for_weights{};  ///< bytes of these, plus gradients, that are held until its weight gradients are done
  Bytes rest{};         ///< additional bytes that the chunk needs while it runs
};

/// Number of micro-batches whose tensors a local chunk holds.
struct SavedCount {
  Count activations = 0;  ///< number of micro-batches between forward and input gradients
  Count for_weights = 0;  ///< number of micro-batches between input gradients and weight gradients
  constexpr bool operator==(const SavedCount&) const = default;
};

/// Peak bytes of a rank: its saved tensors, and the largest `rest` of the chunks with a micro-batch between the start
/// of its forward and the end of its backward. A paired slot holds both micro-batches. `saved`: bytes by local chunk.
/// `counts`: the caller's buffer, with two entries per local chunk; afterward its first half holds the counts at the
/// first peak, by local chunk.
Bytes most_saved(const Pipeline& p, Count rank, std::span<const ChunkSaved> saved, std::span<SavedCount> counts);

/// Peak bytes of a rank for a given list of its slots in order, such as MakespanWorkspace::slots() of an automatic
/// schedule.
Bytes most_saved(const Pipeline& p, std::span<const Slot> slots, std::span<const ChunkSaved> saved,
                 std::span<SavedCount> counts);

}  // namespace llmcalc
