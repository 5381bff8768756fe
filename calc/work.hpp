#pragma once
/// FLOPs of a pass, totalled over the operators, before and after recomputation.

#include "calc/cost.hpp"
#include "calc/program.hpp"

namespace llmcalc {

/// FLOPs of one kind of pass by what does them.
struct Work {
  Flops linear{};  ///< projections, MLPs, routers, absorbed projections, linear attention
  Flops core{};    ///< attention scores and their product with the values
  Flops head{};    ///< the language-model head
  Flops executed{};
  constexpr Flops total() const { return linear + core + head; }
};

/// Forward FLOPs of the whole model (tp = 1) or of one rank.
Work forward_work(const Arch& arch, const Step& step, const Pricing& p, const TensorParallel& tp);

/// Is this operator's forward pass run again during backward?
bool runs_again(const Plan& plan, const Segment& s, const Op& op);

/// FLOPs of one training micro-batch.
struct TrainingFlops {
  Flops forward{}, backward{};
  Flops recompute{};       ///< forward work done again: the attention core (selective) or every block (full)
  Flops model_total{};     ///< forward + backward
  Flops hardware_total{};  ///< model_total + recompute
  Flops executed{};        ///< what the kernels do
};
TrainingFlops training_flops(const Arch& arch, const Plan& plan);

}  // namespace llmcalc
