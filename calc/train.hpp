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

/// FLOPs of one training micro-batch, whole model.
struct TrainingFlops {
  Flops forward{}, backward{};
  Flops recompute{};       ///< forward work that runs again: modules (selective), some or all blocks (full)
  Flops model_total{};     ///< forward + backward
  Flops hardware_total{};  ///< model_total + recompute
  Flops executed{};        ///< by the kernels
};
TrainingFlops training_flops(const WholeFlops& all);
TrainingFlops training_flops(const Arch& arch, const Plan& plan, const Layout& layout = {},
                             const Cluster& cluster = {});
/// The same where chunks of a partition each recompute their first layers.
TrainingFlops training_flops(const Prices& prices, const Plan& plan, const Partition& partition);

/// FLOPs of the optimizer's matrix products in one step, whole model, every matrix once: Muon's. They are executed, and
/// no model FLOPs. Ranks that hold parts or copies of a matrix repeat them (calc/step/rank_end.hpp).
Flops update_flops(const Arch& arch, const Plan& plan);

/// The smallest sequence length at which the attention cores do as many FLOPs as everything else, with windows and
/// under the plan's convention; absent: none, because no layer sees the whole sequence.
std::optional<Count> attention_equals_rest_seq(const Arch& arch, const Plan& plan);
/// Forward FLOPs of one sequence of that length, whole model.
Work work_of_sequence(const Arch& arch, const Plan& plan, Count seq);

/// Seconds of an optimizer step by what they are spent on, the mean over the ranks; they add up to the step.
using StepTime = Spent;
/// Compute, memory, communication and launches of a step; waiting in a pipeline is in none of them.
Time limits(const StepTime& t);

/// Micro-batches that run through the stages of a layout.
Pipeline pipeline_of(const Plan& plan, const Layout& layout);

/// One stage: a rank of the pipeline, all whose data-, tensor- and context-parallel ranks hold and do the same.
struct Stage {
  Count rank = 0;
  Count layers = 0;
  Count in_flight = 0;    ///< micro-batches, of every chunk, of which it keeps something at its worst moment
  Count for_weights = 0;  ///< of them, those of which only weight gradients are left
  Memory memory;
};

struct TrainEstimate {
  Memory memory;  ///< of the fullest stage
  Bytes host{};   ///< of the stage whose devices have most on the host
  Count fullest = 0;
  Partition partition;
  TrainingFlops flops;  ///< of one micro-batch, whole model
  StepTime bound;       ///< at the datasheet's rates
  StepTime estimate;    ///< at measured or stated efficiencies; equal to `bound` where there are none
  bool estimated = false;
  Count tokens = 0;  ///< of one optimizer step, all replicas
};

/// Memory that steps are assembled in; reused, it is allocated once.
class StepRoom {
 public:
  std::vector<ChunkSeconds> chunks;
  std::vector<ChunkTime> times;
  std::vector<Seconds> sends, ready;
  MakespanRoom pipeline;
};

/// The estimate of a training step. Preconditions, which check() tests: the device has a peak for the plan's precision,
/// the cluster a link for every group, the layout and its pipeline no flaw, and micro_batch x replicas divides
/// global_batch.
///
///   step = pipeline of micro-batches, then sums of gradients, then the optimizer's pass
///
/// A rank sums its gradients as soon as its own last backward allows (calc/pipeline/chunk_time.hpp); the optimizers
/// start together, once the slowest rank is done, since clipping needs the norm of all gradients. Where a schedule
/// validates updates afterwards (validates_after), a rank's optimizer follows its own sums, its next step its own
/// optimizer, and steps follow one another as fast as the rank lets them whose part takes longest, from its first
/// forward (with the gathers that this waits for) to its update. Left out: the partial norms that ranks pass on
/// meanwhile, rollbacks, and that ranks of unequal work may shift against each other in later steps. What
/// tensor-parallel ranks sum once per step, the gradients of a token table that first and last stage share, and those
/// of DualPipe's two copies of the model follow these sums.
TrainEstimate train(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);

/// The estimate from the rows of price() for this plan and layout.
TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);
TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                       StepRoom& room);

/// Seconds of a step whose chunks and rows' seconds are known.
StepTime step_spent(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                    const Partition& partition, const RowTimes& rows, Efficiency e, StepRoom& room);

/// The same in all, but for rounding, in half the time.
Seconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const Partition& partition, const RowTimes& rows, Efficiency e, StepRoom& room);

/// The rates that lead a report: the estimate's where there is one.
constexpr Efficiency leading(const Prices& prices) {
  return prices.estimated ? Efficiency::estimated : Efficiency::full;
}

/// What the layers of a plan cost by the seconds of a micro-batch; and the layers of every chunk by these.
RowCosts row_costs(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows);
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowCosts& costs);
/// The layers of every chunk: as stated in the layout, else balanced by seconds at the rates that lead a report (the
/// estimate's where there is one; the bound has the same chunks), or by FLOPs where no device is given. `rows`: at
/// those rates.
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);
Partition partition(const Prices& prices, const Plan& plan, const Layout& layout, const RowTimes& rows);

/// Stage `rank` of a partition.
Stage stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition, Count rank,
            Bytes process = {});
/// The stage whose peak is the highest; the first of several.
Stage fullest_stage(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition,
                    Bytes process = {});

/// Bytes on the host of a device of the stage that has most there; 0 without offload.
Bytes most_on_host(const Prices& prices, const Plan& plan, const Layout& layout, const Partition& partition);

/// Runs an automatic schedule in the order by which its memory is counted: that of layers whose forward and two
/// gradients take equal times. The room holds its slots afterwards, without rounds that repeat.
void run_automatic(const Pipeline& p, const Partition& partition, MakespanRoom& room);

/// Tokens per second of the whole run, and model or hardware FLOPs utilisation of its devices.
double tokens_per_second(const TrainEstimate& e, const StepTime& t);
double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                         const Device& device);
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                            const Device& device);

}  // namespace llmcalc
