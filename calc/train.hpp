#pragma once
/// One optimizer step of training: FLOPs, time and memory.

#include <optional>
#include <vector>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/pipeline/chunk_time.hpp"
#include "calc/pipeline/makespan.hpp"
#include "calc/pipeline/partition.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// FLOPs of one training micro-batch for the whole model.
struct TrainingFlops {
  Flops forward{}, backward{};
  Flops recompute{};       ///< recomputed forward work: modules (selective), some or all blocks (full)
  Flops model_total{};     ///< forward + backward
  Flops hardware_total{};  ///< model_total + recompute
  Flops executed{};        ///< FLOPs executed by the kernels
};
TrainingFlops training_flops(const WholeFlops& all);
TrainingFlops training_flops(const Arch& arch, const Plan& plan, const Layout& layout = {},
                             const Cluster& cluster = {});
/// FLOPs of one training micro-batch if each chunk of a partition recomputes its first layers.
TrainingFlops training_flops(const Prices& prices, const Plan& plan, const Partition& partition);

/// FLOPs of the optimizer's (Muon's) matmuls in one step for the whole model, counting every matrix once. They are
/// executed FLOPs, not model FLOPs. Ranks that hold parts or copies of a matrix repeat its matmuls
/// (calc/step/rank_end.hpp).
Flops update_flops(const Arch& arch, const Plan& plan);

/// The smallest sequence length at which the attention cores take at least half of all forward FLOPs, taking windows
/// and the plan's convention into account. Absent if there is no such length, because no layer sees the whole
/// sequence.
std::optional<Count> attention_equals_rest_seq(const Arch& arch, const Plan& plan);
/// Forward FLOPs of one sequence of `seq` tokens for the whole model.
Work work_of_sequence(const Arch& arch, const Plan& plan, Count seq);

/// Seconds of an optimizer step by part, averaged over the ranks; the parts add up to the step time.
using StepTime = Spent;
/// Seconds of a step by limiting resource, excluding pipeline stalls: compute, memory, communication, launches.
Time limits(const StepTime& t);

/// The pipeline of a layout, with the plan's number of micro-batches.
Pipeline pipeline_of(const Plan& plan, const Layout& layout);

/// One stage: a pipeline rank. Its data-, tensor- and context-parallel ranks all have the same memory and work.
struct Stage {
  Count rank = 0;
  Count layers = 0;
  Count in_flight = 0;    ///< number of micro-batches, over all chunks, whose tensors it holds at its peak
  Count for_weights = 0;  ///< number of micro-batches held with only weight gradients left to compute
  Memory memory;
};

struct TrainEstimate {
  Memory memory;  ///< memory of the fullest stage
  Bytes host{};   ///< host bytes per device in the stage with the most
  Count fullest = 0;
  Partition partition;
  TrainingFlops flops;  ///< FLOPs of one micro-batch for the whole model
  StepTime bound;       ///< step time at the datasheet's rates
  StepTime estimate;    ///< step time at measured or stated efficiencies; otherwise equal to `bound`
  bool estimated = false;
  Count tokens = 0;  ///< number of tokens in one optimizer step, over all replicas
};

/// Workspace for assembling steps; reusing it avoids allocations.
class StepWorkspace {
 public:
  /// The model chunks at one set of rates. Consecutive chunks with the same rows form a class.
  struct Chunks {
    std::vector<std::size_t> classes;   ///< class of each chunk
    std::vector<ChunkSeconds> seconds;  ///< seconds of each class
    std::vector<Spent> spent;           ///< RowTimes::spent_in() of each class
    std::vector<ChunkTime> times;       ///< times of each chunk; sends and ready are also by chunk
    std::vector<Seconds> sends, ready;
  };
  std::array<Chunks, 2> chunks;  ///< the chunks at the datasheet's rates, and at the estimated ones
  MakespanWorkspace pipeline;
};

/// Estimate of a training step. Preconditions, verified by check(): the device has a peak for the plan's precision, the
/// cluster has a link for every group, the layout and its pipeline have no flaw, and micro_batch x replicas divides
/// global_batch.
///
///   step = pipeline of micro-batches, then gradient reduction, then the optimizer's pass
///
/// A rank reduces its gradients as soon as its own last backward allows (calc/pipeline/chunk_time.hpp). The optimizers
/// start together when the slowest rank is done, since clipping needs the norm of all gradients. If a schedule
/// validates updates afterward (validates_after), a rank's optimizer follows the rank's own reduction, and its next
/// step follows its own optimizer. The step time is then the longest time of any rank from its first forward
/// (including the gathers that it waits for) to its update. Excludes the exchange of partial norms during the next
/// step, rollbacks, and the drift between ranks of unequal work over later steps. The gradient reduction is followed
/// by the once-per-step reductions: across tensor-parallel ranks, of the gradients of a token embedding shared by the
/// first and last stages, and between DualPipe's two model copies.
TrainEstimate train(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);

/// Assembles the estimate from the rows of price() for this plan and layout.
TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);
TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                       StepWorkspace& room);

/// Times of a step from its partition and the rows' seconds, at the datasheet's rates and at the estimated rates.
/// Without estimated rates, both are equal.
struct BothStepTimes {
  StepTime bound, estimate;
};
BothStepTimes both_steps(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, const RowTimes& bound, const RowTimes& estimate,
                         StepWorkspace& room);

/// Total seconds of the step that both_steps() returns for these rates, up to rounding, in half the computing time.
Seconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room);

/// The rates that a report shows first: the estimated rates if available.
constexpr Efficiency leading(const Prices& prices) {
  return prices.estimated ? Efficiency::estimated : Efficiency::full;
}

/// Row costs in seconds per micro-batch, and the partition computed from them.
RowCosts row_costs(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows);
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowCosts& costs);
/// The partition specified by the layout, otherwise one that is balanced by seconds at leading() rates (the bound uses
/// the same chunks), or by FLOPs without a device. `rows`: seconds of the rows at those rates.
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows);

/// Stage `rank` of a partition.
Stage stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition, Count rank,
            Bytes process = {});
/// The stage with the highest peak; on ties, the first.
Stage fullest_stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition,
                    Bytes process = {});

/// Host bytes per device in the stage with the most; 0 without offload.
Bytes most_on_host(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition);

/// Runs an automatic schedule with equal times for forward, input gradients and weight gradients of every layer. Its
/// memory is counted for the resulting order. Stores the slots in `room`, without repeated rounds.
void run_automatic(const Pipeline& p, const Partition& partition, MakespanWorkspace& room);

/// Tokens per second of the whole run, and the model and hardware FLOPs utilization of its devices.
double tokens_per_second(const TrainEstimate& e, const StepTime& t);
double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                         const Device& device);
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                            const Device& device);

}  // namespace llmcalc
