#pragma once
/// Durations of the parts of a pipeline.

#include <algorithm>
#include <span>

#include "calc/pipeline/order.hpp"

namespace llmcalc {

/// Seconds of one micro-batch in one model chunk, on its rank.
struct ChunkTime {
  Seconds forward{}, backward_input{}, backward_weight{};
  /// A forward of this chunk and the whole backward of the rank's other chunk, as one slot of DualPipe; 0: the slot
  /// takes the sum of both times.
  Seconds paired{};
};

/// Times of a pipeline, by model chunk and by boundary between model chunks. A send is a pure latency: it delays only
/// its receiver, and concurrent sends do not delay each other. A boundary between chunks of the same rank takes no
/// time, regardless of `sends`.
struct PipelineTimes {
  std::span<const ChunkTime> chunks;
  std::span<const Seconds> sends{};  ///< time to send activations from chunk q to q + 1, or gradients back; empty: 0
  std::span<const Seconds> ready{};  ///< earliest start of a chunk's forwards; empty: 0
};

/// One local chunk of one rank in a simulation. Neighbors are indices (see chunk_index()), or `none`.
struct ChunkNode {
  static constexpr Count none = -1;
  Count before = none, after = none;       ///< indices of the local chunks that send it activations and gradients
  double from_before = 0, from_after = 0;  ///< seconds to send these activations and gradients
  double forward = 0, input = 0, weight = 0, paired = 0, ready = 0;
};
ChunkNode chunk_node(const Pipeline& p, const PipelineTimes& t, ChunkPlace at);

/// Duration in seconds of a slot of `chunk`. In a paired slot, the forward pass is of `chunk` and the backward pass of
/// `gradient`; in all other slots they are the same chunk.
inline double slot_seconds(SlotKind kind, const ChunkNode& chunk, const ChunkNode& gradient) {
  switch (kind) {
    case SlotKind::forward:
      return chunk.forward;
    case SlotKind::backward:
      return chunk.input + chunk.weight;
    case SlotKind::backward_input:
      return chunk.input;
    case SlotKind::backward_weight:
      return chunk.weight;
    case SlotKind::forward_and_backward:
      break;
  }
  return chunk.paired > 0 ? chunk.paired : chunk.forward + gradient.input + gradient.weight;
}

}  // namespace llmcalc
