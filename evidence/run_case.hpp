#pragma once
/// A recorded run as the engine's inputs.

#include <string>
#include <vector>

#include "evidence/engine_name.hpp"
#include "evidence/recorded_run.hpp"
#include "evidence/row_cluster.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

struct RunCase {
  std::string model;  ///< the preset's name
  Arch arch;
  Plan plan;  ///< number formats and the share of memory alone
  Layout layout;
  RowCluster on;
  EngineName engine;
  InferenceStack stack;
  EngineLimits limits;               ///< of one engine
  EngineMemory memory;               ///< of one device
  std::vector<std::string> assumed;  ///< sentences
  bool input_assumed = false;        ///< whether times depend strongly on something assumed
  std::string skip;                  ///< not empty: why the run cannot be expressed; all else is undefined

  const Cluster& cluster() const { return on.cluster(); }
  /// Whether the engines step together, because they exchange tokens for experts.
  bool in_step() const { return arch.has_experts() && layout.dp > 1; }
};

/// `measured`: the device in place of the preset that the run's means, where it is not null.
RunCase run_case(const RecordedRun& run, const Devices& devices, const HardwareCard* measured = nullptr);

}  // namespace llmcalc
