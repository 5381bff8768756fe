#pragma once
/// The work of the units of a chunk: the embedding, each layer, the head, each MTP module. Tasks are created from
/// units. Units have the full seconds of collectives, whereas calc/step/row_time.hpp has only exposed seconds.

#include <vector>

#include "calc/pipeline/events.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// All collectives of a group in one direction of a row, and the outermost network level that they cross.
struct GroupCollective {
  Group group = Group::tensor;
  Count level = 0;
  Seconds seconds{};
};

struct LegWork {
  TaskKind kind = TaskKind::forward;
  Seconds seconds{};
};
/// Sequential work and its collectives, whose hidden seconds overlap with the end of the work.
struct Leg {
  std::vector<LegWork> works{};
  std::vector<GroupCollective> collectives{};
  Seconds hidden{}, hidden_experts{};  ///< hidden seconds of all other collectives, and of expert collectives
};

/// One direction of a row, and the concurrent transfers from the host (`up`) and to the host (`down`).
struct RowPass {
  std::vector<Leg> legs{};
  Seconds up{}, down{};
};

/// A unit of the model in one micro-batch. An MTP module has three rows, and every other unit one row.
struct ChunkUnit {
  Count number = 0;      ///< index of the unit: embedding 0, then layers from 1 on, head, MTP modules
  bool outside = false;  ///< whether the unit is the embedding or the head
  std::vector<RowPass> forward{};
  /// Backward pass; weight gradients are in `weights` if scheduled separately.
  std::vector<RowPass> backward{}, weights{};
  /// Seconds to gather weights, to reduce gradients, and to move gradients to host memory once per step.
  Seconds gather{}, reduce{}, down{};
};

struct ChunkUnits {
  std::vector<ChunkUnit> units{};  ///< units in model order
  Seconds sending{};               ///< time that each slot stalls while its inter-stage messages are sent
};

/// The units of a chunk. `times`: row_times() for the same arguments.
ChunkUnits chunk_units(const Prices& prices, const RowTimes& times, const Plan& plan, const Layout& layout,
                       const Cluster& cluster, const ModelChunk& chunk, Efficiency e);

}  // namespace llmcalc
