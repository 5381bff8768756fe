#pragma once
/// A recorded run as the engine's inputs.

#include <string>
#include <vector>

#include "evidence/names/engine_name.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "evidence/rows/recorded.hpp"
#include "evidence/rows/row_cluster.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

struct RunCase {
  MeasurementHead head{};                   ///< its model: the preset's name
  std::vector<RecordedRequest> requests{};  ///< by the time at which they are queued
  std::vector<RecordedSecond> seconds{};
  Arch arch{};
  Plan plan{};  ///< number formats and the share of memory alone
  Layout layout{};
  RowCluster on{};
  EngineName engine{};
  InferenceStack stack{};
  EngineLimits limits{};               ///< of one engine
  EngineMemory memory{};               ///< of one device
  std::vector<std::string> assumed{};  ///< sentences
  bool input_assumed = false;          ///< whether times depend strongly on something assumed
  std::string skip{};                  ///< not empty: why the run cannot be expressed; all else is undefined

  const Cluster& cluster() const { return on.cluster(); }
  /// Whether the engines step together, because they exchange tokens for experts.
  bool in_step() const { return arch.has_experts() && layout.dp > 1; }
};

/// The case on another device than the run's: one that was measured.
RunCase on_device(RunCase c, const HardwareCard& device);

/// Fills in the engine's profile and memory, which follow from the rest; skips the run where there is no cache.
void settle_run(RunCase& c);

}  // namespace llmcalc
