#pragma once
/// What the waits of a training step are made of.

#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

struct StepParts {
  std::vector<Seconds> work{};  ///< of every rank of a pipeline: its micro-batches
  Seconds rest{};               ///< of the step, besides all other parts, before Part::imbalance takes its own

  // Of Part::dp, means over the ranks:
  Seconds gathers{};     ///< the first forward waits for weights
  Seconds reductions{};  ///< behind the last backward, for gradients
  Seconds waits{};       ///< of micro-batches, for both
  Seconds others{};      ///< sums of DualPipe's copies, matrices that Muon gathers

  // Of Part::pp:
  Seconds sending{};          ///< slots that wait for their message, the mean over the ranks
  Seconds pipelined, unsent;  ///< the pipeline with messages, and without
};

/// The parts of step_spent() with the same arguments.
StepParts step_parts(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepRoom& room);

}  // namespace llmcalc
