#pragma once
/// The work of the units of a chunk: embedding, each layer, head, each module that predicts a further token. What tasks
/// are made of, with exchanges by their own seconds, where calc/step/row_time.hpp has what is exposed of them.

#include <vector>

#include "calc/pipeline/events.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// All exchanges of a group in one direction of a row, and the outermost level of the network that they cross.
struct GroupExchange {
  Group group = Group::tensor;
  Count level = 0;
  Seconds seconds{};
};

struct LegWork {
  TaskKind kind = TaskKind::forward;
  Seconds seconds{};
};
/// Work one after another, and its exchanges, which begin before its end by what is hidden of them.
struct Leg {
  std::vector<LegWork> works{};
  std::vector<GroupExchange> exchanges{};
  Seconds hidden{}, hidden_experts{};  ///< of exchanges with all others, and with experts
};

/// A direction of a row, and what travels from the host and to it meanwhile.
struct RowPass {
  std::vector<Leg> legs{};
  Seconds up{}, down{};
};

/// A unit of the model in one micro-batch. A module is three rows, all others are one.
struct ChunkUnit {
  Count number = 0;      ///< embedding 0, layers from 1 on, head, modules
  bool outside = false;  ///< embedding or head
  std::vector<RowPass> forward{};
  /// Gradients, of weights too unless these are computed apart; these then.
  std::vector<RowPass> backward{}, weights{};
  Seconds gather{}, reduce{}, down{};  ///< of weights; of gradients; of gradients to the host, once per step
};

struct ChunkUnits {
  std::vector<ChunkUnit> units{};  ///< in the order of the model
  Seconds sending{};               ///< that a slot waits for its messages
};

/// The units of a chunk. `times` are row_times() of the same.
ChunkUnits chunk_units(const Prices& prices, const RowTimes& times, const Plan& plan, const Layout& layout,
                       const Cluster& cluster, const ModelChunk& chunk, Efficiency e);

}  // namespace llmcalc
