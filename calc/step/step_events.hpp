#pragma once
/// A whole training step as tasks in time: the long way to its seconds, and what a trace shows. The numbers without the
/// tasks are calc/train.hpp's, and a test sets the two equal.

#include "calc/step/slot_events.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// The seconds that the tasks of a step take.
struct StepSeconds {
  Pipeline pipeline{};
  std::vector<ChunkUnits> chunks;  ///< by model chunk
  std::vector<Seconds> sends;      ///< by boundary between model chunks
  std::vector<Seconds> sums;       ///< by rank: what is summed once per step besides data-parallel ranks' gradients
  std::vector<Seconds> updates;    ///< by rank: the optimizer's pass
  std::vector<Seconds> on_host;    ///< by rank: the host's updates, and weights that travel then; 0: there are none
  Sharing sharing{};
};
/// Preconditions as those of assemble().
StepSeconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, Efficiency e = Efficiency::full);

/// Appends a step to an empty timeline, and runs it: its seconds. Where updates are validated afterwards
/// (validates_after) the next step of a rank begins with its own update's end, and the seconds are from step to step.
///   gather_weights    ZeRO-1 and -2: from the step's begin on, unit after unit; a unit's first forward waits for its
///                     own; later where not all that can be hidden is
///   slots             as calc/step/slot_events.hpp has them, with ZeRO-2's overlapped reductions (no pipeline) and all
///                     gathers and reductions of ZeRO-3
///   reduce_gradients  a unit's when its last gradients are there, chunk after chunk in the order in which their last
///                     backwards end; or later, too; the other sums of the rank follow (no unit: -1)
///   offload_gradients  a unit's, when they are reduced
///   optimizer         on all ranks at once, when the last has its sums: clipping needs the norm of all gradients; or,
///                     validated afterwards, on every rank when it has its own
///   update_on_host    then, too, where the rank's gradients are on the host
Seconds add_step(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s);

}  // namespace llmcalc
