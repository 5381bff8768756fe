#pragma once
/// A training measurement as inputs of the calculation, with measured values in base units.

#include <optional>
#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/names/stack.hpp"
#include "evidence/rows/attention_said.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "evidence/rows/recomputed.hpp"
#include "evidence/rows/row_cluster.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

/// A measured memory peak.
struct MeasuredMemory {
  double bytes = 0;  ///< bytes on the device with the highest peak
  MemoryKind kind = MemoryKind::peak;
  bool stated = true;  ///< whether the source states the kind
  Count devices = 0;   ///< only the first `devices` devices were observed; 0: all were
  std::string key{};   ///< key in the row
};

/// Quantity predicted for a row: seconds of its step.
inline constexpr std::string_view step_quantity = "step_time_s";

struct TrainingCase {
  MeasurementHead head{};
  Arch arch{};
  Plan plan{};
  Layout layout{};
  RowCluster on{};  ///< device and cluster
  Stack stack{};
  AttentionSaid attention{};
  Recomputed recomputed{};
  bool half_gradients_open = false;  ///< whether the format is fp16 or bf16, but the row does not state which
  bool compiles_loss = false;        ///< whether the loss is compiled with the model, as in torchtitan since 2025
  std::optional<double> capacity_factor{};  ///< capacity factor of experts: excess tokens are dropped, free slots
                                            ///< padded

  std::optional<Seconds> step{};  ///< measured time of one optimizer step
  std::string measured_as{};      ///< key in the source from which `step` was derived
  std::vector<MeasuredMemory> memory{};

  std::vector<std::string> assumed{};  ///< assumptions, as sentences
  /// Whether step time depends strongly on an assumption: the micro-batch, recomputation, the layout, the stack, the
  /// device, or the measured step's tokens.
  bool input_assumed = false;
  std::string skip{};          ///< if not empty, why the row cannot be expressed; the other members are then undefined
  bool states_memory = false;  ///< whether the row states a memory peak, which may not be comparable
  std::string no_memory{};     ///< if not empty, why the stated memory cannot be compared
  std::string no_step{};       ///< if not empty, why there is no step time; memory may still be present

  const Cluster& cluster() const { return on.cluster(); }
};

}  // namespace llmcalc
