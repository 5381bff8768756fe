#pragma once
/// A whole training step as tasks in time: the long way to its seconds, and what a trace shows. The numbers without the
/// tasks are calc/train.hpp's, and a test sets the two equal.

#include <vector>

#include "calc/pipeline/events.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// The seconds that the tasks of a step take.
struct StepSeconds {
  Pipeline pipeline{};
  std::vector<ChunkSeconds> chunks;  ///< by model chunk
  std::vector<Seconds> sends;        ///< by boundary between model chunks
  std::vector<Seconds> sums;         ///< by rank: what is summed once per step besides data-parallel ranks' gradients
  std::vector<Seconds> updates;      ///< by rank: the optimizer's pass
  std::vector<Seconds> on_host;      ///< by rank: the host's updates, and weights that travel then; 0: there are none
  double hidden = 1;                 ///< of what can be hidden of gathers and reductions
};
/// Preconditions as those of assemble().
StepSeconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, Efficiency e = Efficiency::full);

/// The streams of a rank: its compute units, where the slots of its pipeline and its optimizer run, and its way to the
/// ranks that hold the same weights. (Messages from stage to stage have streams of their own.)
constexpr TaskStream compute_stream(Count rank) { return {.rank = rank}; }
constexpr TaskStream sharing_stream(Count rank) { return {.rank = rank, .network = true}; }
/// The way to the host, and the host's own work after it.
constexpr TaskStream host_stream(Count rank) { return {.rank = rank, .host = true}; }

/// Appends a step to an empty timeline, and runs it: its seconds.
///   gather_weights    ZeRO-1 and -2: from the step's begin on, chunk after chunk; a chunk's first forward starts so
///                     long before the end that each layer's weights are there when it runs; later where not all that
///                     can be hidden is
///   slots             as add_pipeline() has them
///   reduce_gradients  chunk after chunk in the order in which their last backwards end; of a chunk so long before that
///                     end that each layer's gradients are ready, or later, too; the other sums of the rank follow (no
///                     chunk: -1)
///   offload_gradients  of a chunk, so long before the end of its last backward that each layer's gradients are
///   reduced,
///                     and after those of chunks whose backwards ended earlier are
///   optimizer         on all ranks at once, when the last has its sums: clipping needs the norm of all gradients
///   update_on_host    then, too, where the rank's gradients are on the host
/// What ZeRO-2 reduces after micro-batches but the last, and ZeRO-3 in all of them, is no task of its own: it runs
/// beside the slots, which are longer where they wait for it; so does what travels to and from the host in them.
Seconds add_step(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s);

}  // namespace llmcalc
