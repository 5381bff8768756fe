#pragma once
/// A measurement of training as the engine's inputs, and the measured values in base units.

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

/// A peak of memory that was measured.
struct MeasuredMemory {
  double bytes = 0;  ///< of the fullest device
  MemoryKind kind = MemoryKind::peak;
  bool stated = true;  ///< what was read is said, not guessed
  Count devices = 0;   ///< it is the fullest of the first `devices`; 0: of all
  std::string key{};   ///< the row's own
};

/// The quantity that is predicted of a row: the seconds of its step.
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
  bool half_gradients_open = false;         ///< 16-bit training, not said in which format
  bool compiles_loss = false;               ///< with the model: torchtitan does so since 2025
  std::optional<double> capacity_factor{};  ///< of experts: tokens beyond it are dropped, places below it padded

  std::optional<Seconds> step{};  ///< measured time of one optimizer step
  std::string measured_as{};      ///< the key that it comes from
  std::vector<MeasuredMemory> memory{};

  std::vector<std::string> assumed{};  ///< sentences
  /// Whether something was assumed that time depends on strongly: the micro-batch, what is recomputed, the layout, the
  /// stack, the device, or the measured step's tokens.
  bool input_assumed = false;
  std::string skip{};          ///< not empty: why the row cannot be expressed; all else is undefined
  bool states_memory = false;  ///< a peak of memory was measured, though it may not be comparable
  std::string no_memory{};     ///< not empty: why no memory can be compared, though the row states one
  std::string no_step{};       ///< not empty: why there is no time, though there may be memory

  const Cluster& cluster() const { return on.cluster(); }
};

}  // namespace llmcalc
