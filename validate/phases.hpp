#pragma once
/// Predictions for the phases whose work a device's counters see.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc::validate {

/// An operator as often as it runs in a phase.
struct OpRuns {
  std::string op;
  Shape shape;
  bool backward = false;
  Count times = 0;
  Flops flops;  ///< of one run
};

struct PhaseWork {
  std::string name;  ///< "forward", "backward", "optimizer", "prefill", "decode"
  double flops = 0;  ///< that products and attention execute
  double moved = 0;  ///< bytes, each operand of each operator once: a floor where nothing fits into a cache
  std::vector<OpRuns> runs = {};  ///< of what has FLOPs
};

/// One micro-batch and an update; recomputation is in backward.
std::vector<PhaseWork> training_phases(const Arch& arch, const Plan& plan);

/// The prompt, and the last token that is generated.
std::vector<PhaseWork> inference_phases(const Arch& arch, const Plan& plan);

}  // namespace llmcalc::validate
