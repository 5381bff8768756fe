#pragma once
/// A whole training step as a timeline of tasks, for traces and as a check: calc/train.hpp computes the same seconds
/// without tasks, and a test compares the two.

#include "calc/step/slot_events.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// Seconds of the tasks of a step.
struct StepSeconds {
  Pipeline pipeline{};
  std::vector<ChunkUnits> chunks;  ///< units of each model chunk
  std::vector<Seconds> sends;      ///< send time of each boundary between model chunks
  std::vector<Seconds> sums;       ///< seconds of each rank's once-per-step reductions, without data-parallel gradients
  std::vector<Seconds> updates;    ///< seconds of each rank's optimizer pass
  std::vector<Seconds> on_host;    ///< seconds of each rank's host updates and concurrent weight transfers, if any
  Sharing sharing{};
};
/// Seconds of the tasks of a step. Preconditions as for assemble().
StepSeconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, Efficiency e = Efficiency::full);

/// Appends a step to an empty timeline, runs it and returns its seconds. If updates are validated afterward
/// (validates_after), a rank's next step begins when its update ends, and the result is the time from step to step.
///   gather_weights    ZeRO-1 and -2: from the step's start on, unit by unit; a unit's first forward waits for the
///                     unit's weights, and longer if the possible overlap is not fully hidden
///   slots             as in calc/step/slot_events.hpp, with ZeRO-2's overlapped reductions (no pipeline) and all
///                     gathers and reductions of ZeRO-3
///   reduce_gradients  per unit, when its last gradients are ready, or later if the possible overlap is not fully
///                     hidden; chunk by chunk in the order in which their last backwards end. The rank's other
///                     reductions follow (unit -1)
///   offload_gradients  per unit, when its gradients are reduced
///   optimizer         on all ranks at once, when the last rank's reductions are done, because clipping needs the
///                     norm of all gradients; if validated afterward, on every rank when its own reductions are done
///   update_on_host    at the same time, if the rank's gradients are on the host
Seconds add_step(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s);

}  // namespace llmcalc
