#pragma once
/// What the waits of a training step are made of.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

struct StepParts {
  std::vector<Seconds> work{};  ///< of every rank of a pipeline: its micro-batches
  /// Of the step, besides all parts but waits in the pipeline: what is left for Part::pp, and then for Part::imbalance.
  Seconds left_for_pp{}, left_for_imbalance{};

  // Of Part::dp, means over the ranks:
  Seconds gathers{};     ///< the first forward waits for weights
  Seconds reductions{};  ///< behind the last backward, for gradients
  Seconds waits{};       ///< of micro-batches, for both
  Seconds others{};      ///< sums of DualPipe's copies, matrices that Muon gathers

  // Of Part::pp:
  Seconds sending{};          ///< slots that wait for their message, the mean over the ranks
  Seconds table{};            ///< gradients of a token table that first and last stage share, the mean
  Seconds pipelined, unsent;  ///< the pipeline with messages, and without
};

/// The parts of step_spent() with the same arguments.
StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepRoom& room);

}  // namespace llmcalc
