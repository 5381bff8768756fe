#pragma once
/// One optimizer step of training: FLOPs, time and memory.

#include <optional>

#include "calc/assemble.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"

namespace llmcalc {

/// FLOPs of one training micro-batch, whole model.
struct TrainingFlops {
  Flops forward{}, backward{};
  Flops recompute{};       ///< recomputed forward work: the attention core (selective) or every block (full)
  Flops model_total{};     ///< forward + backward
  Flops hardware_total{};  ///< model_total + recompute
  Flops executed{};        ///< by the kernels
};
TrainingFlops training_flops(const WholeFlops& all);
TrainingFlops training_flops(const Arch& arch, const Plan& plan);

/// The smallest sequence length at which the attention cores do as many FLOPs as everything else, with windows and
/// under the plan's convention; absent: none, because no layer sees the whole sequence.
std::optional<Count> attention_equals_rest_seq(const Arch& arch, const Plan& plan);
/// Forward FLOPs of one sequence of that length, whole model.
Work work_of_sequence(const Arch& arch, const Plan& plan, Count seq);

struct StepTime {
  Time time;       ///< forward, backward and recomputation of every micro-batch, one rank
  Time optimizer;  ///< the optimizer's pass over the states, once per step
  constexpr Time all() const {
    Time t = time;
    return t += optimizer;
  }
  constexpr Seconds total() const { return all().total(); }
};

struct TrainEstimate {
  Memory memory;
  TrainingFlops flops;  ///< of one micro-batch, whole model
  StepTime bound;       ///< at the datasheet's rates
  StepTime estimate;    ///< at measured or stated efficiencies; equal to `bound` where there are none
  bool estimated = false;
  Count tokens = 0;  ///< of one optimizer step, all replicas
};

/// The estimate of a training step. Preconditions, which check() tests: the device has a peak for the plan's precision,
/// the cluster a link for every group, the layout no flaw, and micro_batch x replicas divides global_batch.
TrainEstimate train(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);

/// The estimate from the rows of price() for this plan and layout.
TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);

/// Tokens per second of the whole run, and model or hardware FLOPs utilisation of its devices.
double tokens_per_second(const TrainEstimate& e, const StepTime& t);
double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                         const Device& device);
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                            const Device& device);

}  // namespace llmcalc
