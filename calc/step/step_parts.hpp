#pragma once
/// Components of the stalls of a training step.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

struct StepParts {
  std::vector<Seconds> work{};  ///< seconds of the micro-batches of every rank of a pipeline
  /// Upper limits of Part::pp and Part::imbalance: the seconds of the step that remain after the parts added earlier.
  Seconds left_for_pp{}, left_for_imbalance{};

  // Components of Part::dp, means over the ranks:
  Seconds gathers{};     ///< time that the first forward waits for weights
  Seconds reductions{};  ///< time spent waiting for gradients after the last backward
  Seconds waits{};       ///< time that micro-batches stall while they wait for weights and gradients
  Seconds others{};      ///< time of reductions between DualPipe's copies, and of gathers of matrices for Muon

  // Components of Part::pp:
  Seconds sending{};  ///< time that slots stall while inter-stage messages are sent, mean over the ranks
  Seconds table{};    ///< time to reduce a token embedding shared by the first and last stages, mean over the ranks
  Seconds pipelined, unsent;  ///< time of the pipeline with messages, and without
};

/// The components of the stalls in both_steps() at these rates.
StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room);

}  // namespace llmcalc
