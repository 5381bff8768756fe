#pragma once
/// Settings of a model run.

#include <cstdint>

#include "calc/arch/numerics.hpp"
#include "calc/plan.hpp"

namespace llmcalc::model {

/// Settings of a model run, excluding its weights.
struct Settings {
  Plan plan;
  double dropout = 0.1;     ///< dropout probability, used if the plan enables dropout
  std::uint64_t seed = 1;   ///< seed of the dropout masks
  std::uint64_t steps = 0;  ///< steps trained; each has new dropout masks
  /// Weight of the MTP modules' mean loss (Plan::mtp) in the total loss, as in most of DeepSeek-V3's training
  /// (arXiv:2412.19437, 4.2).
  double further_share = 0.3;
  Numerics numerics = {};
  bool coded = false;  ///< whether weights and cache use the plan's formats if these differ from the compute format
  bool operator==(const Settings&) const = default;
};

}  // namespace llmcalc::model
