#pragma once
/// Settings of a model run.

#include <cstdint>

#include "calc/arch/numerics.hpp"
#include "calc/plan.hpp"

namespace llmcalc::model {

/// The settings of a model run, besides its weights.
struct Settings {
  Plan plan;
  double dropout = 0.1;     ///< where the plan has dropout on
  std::uint64_t seed = 1;   ///< of dropout
  std::uint64_t steps = 0;  ///< steps trained: each has new dropout masks
  /// The share of the mean of the modules' losses (Plan::mtp) in the loss, as in most of DeepSeek-V3's training
  /// (arXiv:2412.19437, 4.2).
  double further_share = 0.3;
  Numerics numerics = {};
  bool coded = false;  ///< weights and cache are held in the plan's formats where these are not what it computes in
  bool operator==(const Settings&) const = default;
};

}  // namespace llmcalc::model
