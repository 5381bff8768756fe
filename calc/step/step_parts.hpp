#pragma once
/// Components of the stalls of a training step.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

struct StepParts {
  std::vector<Seconds> work{};  ///< of every rank of a pipeline: its micro-batches
  /// The step minus all parts except pipeline stalls: the remainder for Part::pp, and then for Part::imbalance.
  Seconds left_for_pp{}, left_for_imbalance{};

  // Components of Part::dp, means over the ranks:
  Seconds gathers{};     ///< the first forward's wait for weights
  Seconds reductions{};  ///< wait for gradients after the last backward
  Seconds waits{};       ///< stalls of micro-batches, for both
  Seconds others{};      ///< sums of DualPipe's copies; matrices that Muon gathers

  // Components of Part::pp:
  Seconds sending{};          ///< stalls of slots for their messages, mean over the ranks
  Seconds table{};            ///< gradients of a token table that first and last stage share, mean over the ranks
  Seconds pipelined, unsent;  ///< the pipeline with messages, and without
};

/// The components of step_spent() with the same arguments.
StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room);

}  // namespace llmcalc
