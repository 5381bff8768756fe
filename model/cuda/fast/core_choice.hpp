#pragma once
/// Gain and measure: see mma_attention.hpp; this file chooses between those kernels and the plain ones.
///
/// Chooses the flash attention core: tensor cores unless an obstacle prevents them, otherwise scalar multiply-adds.
/// LLMCALC_ATTENTION=plain forces scalar multiply-adds; LLMCALC_ATTENTION=mma turns an obstacle into an error.

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/layers/attention_core.hpp"

namespace llmcalc::model::cuda {

class CoreChoice {
 public:
  /// `only`: the name of the only core that may be used; null: any. Throws std::runtime_error if the name is unknown.
  explicit CoreChoice(const char* only = std::getenv("LLMCALC_ATTENTION")) {
    if (only == nullptr) return;
    for (const AttentionCore core : {AttentionCore::mma, AttentionCore::plain})
      if (name(core) == only) only_ = core;
    if (!only_)
      throw std::runtime_error("LLMCALC_ATTENTION is " + std::string(only) + "; valid values are mma and plain");
  }

  /// Chooses tensor cores unless there is an obstacle, and records the choice. Throws std::runtime_error if there is an
  /// obstacle to a core that is required.
  bool tensor_cores(bool backward, std::optional<CoreObstacle> obstacle) {
    if (only_ == AttentionCore::plain) obstacle = CoreObstacle::environment;
    if (obstacle && only_ == AttentionCore::mma)
      throw std::runtime_error("LLMCALC_ATTENTION is mma, which is not possible: " + std::string(name(*obstacle)));
    ran_.of(backward) = CoreRun{obstacle ? AttentionCore::plain : AttentionCore::mma, obstacle};
    return !obstacle;
  }
  const AttentionCores& ran() const { return ran_; }

 private:
  std::optional<AttentionCore> only_;
  AttentionCores ran_;
};

}  // namespace llmcalc::model::cuda
