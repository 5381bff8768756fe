#pragma once
/// Components of the stalls of a training step.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

struct StepParts {
  std::vector<Seconds> work{};  ///< seconds of the micro-batches of every rank of a pipeline
  /// Upper limits of Part::pp and Part::imbalance: the seconds of the step that the parts added earlier leave.
  Seconds left_for_pp{}, left_for_imbalance{};

  // Components of Part::dp, means over the ranks:
  Seconds gathers{};     ///< the first forward's wait for weights
  Seconds reductions{};  ///< wait for gradients after the last backward
  Seconds waits{};       ///< stalls of micro-batches for weights and gradients
  Seconds others{};      ///< reductions between DualPipe's copies; gathers of matrices for Muon

  // Components of Part::pp:
  Seconds sending{};  ///< stalls of slots for their messages, mean over the ranks
  Seconds table{};    ///< gradients of a token embedding that the first and last stages share, mean over the ranks
  Seconds pipelined, unsent;  ///< time of the pipeline with messages, and without
};

/// The components of the stalls in both_steps() at these rates.
StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room);

}  // namespace llmcalc
