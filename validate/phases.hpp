#pragma once
/// Predictions for the phases whose work a device's counters measure.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc::validate {

/// An operator and the number of times it runs in a phase.
struct OpRuns {
  std::string op;
  Shape shape;
  bool backward = false;
  Count times = 0;
  Flops flops;  ///< FLOPs per run
};

struct PhaseWork {
  std::string name;  ///< "forward", "backward", "optimizer", "prefill", "decode"
  double flops = 0;  ///< FLOPs executed by matmuls and attention
  double moved = 0;  ///< bytes, counting each operand of each operator once: a lower bound if there are no cache hits
  std::vector<OpRuns> runs = {};  ///< runs of operators with FLOPs
};

/// The phases of one micro-batch and an update. Recomputation counts as backward.
std::vector<PhaseWork> training_phases(const Arch& arch, const Plan& plan);

/// The phases of inference: the prompt's prefill, and the decode step of the last generated token.
std::vector<PhaseWork> inference_phases(const Arch& arch, const Plan& plan);

}  // namespace llmcalc::validate
