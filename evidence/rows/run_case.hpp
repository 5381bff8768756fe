#pragma once
/// A recorded run as inputs of the calculation.

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
  MeasurementHead head{};                   ///< `model` is the preset's name
  std::vector<RecordedRequest> requests{};  ///< requests, sorted by queue time
  std::vector<RecordedSecond> seconds{};
  Arch arch{};
  Plan plan{};  ///< only its number formats and memory fraction are set
  Layout layout{};
  RowCluster on{};
  EngineName engine{};
  InferenceStack stack{};
  EngineLimits limits{};               ///< limits of one engine
  EngineMemory memory{};               ///< memory of one device
  std::vector<std::string> assumed{};  ///< assumptions, as sentences
  bool input_assumed = false;          ///< whether times depend strongly on an assumption
  std::string skip{};  ///< if not empty, why the run cannot be expressed; the other members are then undefined

  const Cluster& cluster() const { return on.cluster(); }
  /// Whether the engines run in lockstep, because each engine's tokens are sent to experts on all engines.
  bool in_step() const { return arch.has_experts() && layout.dp > 1; }
};

/// The case with the run's device replaced by `device`.
RunCase on_device(RunCase c, const HardwareCard& device);

/// Derives the engine's stack and memory from the other members. Sets `skip` if no memory is left for a cache.
void settle_run(RunCase& c);

}  // namespace llmcalc
