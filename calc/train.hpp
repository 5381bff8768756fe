#pragma once
/// One optimizer step of training: what it does, how long it takes, what it needs.

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/roofline.hpp"
#include "calc/work.hpp"

namespace llmcalc {

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
  Count tokens = 0;  ///< of one optimizer step, one tensor-parallel group
};

/// Preconditions, which check() states: the device has a peak for the plan's precision and a link for its ranks, the
/// ranks divide the heads, micro_batch divides global_batch.
TrainEstimate train(const Arch& arch, const Plan& plan, const Device& device);

/// Tokens per second of one tensor-parallel group, and model or hardware FLOPs utilisation of its devices.
double tokens_per_second(const TrainEstimate& e, const StepTime& t);
double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device);
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device);

}  // namespace llmcalc
