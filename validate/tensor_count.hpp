#pragma once
/// Tensor-core work of a phase by kind, predicted and counted.

#include <functional>
#include <optional>

#include "model/backend.hpp"
#include "model/trace.hpp"
#include "validate/phases.hpp"

namespace llmcalc::validate {

/// Tolerance of counted FLOPs and of total memory, relative to their predictions.
inline constexpr double metered_tolerance = 0.02;

struct TensorCount {
  model::WorkKind kind = model::WorkKind::products;
  double predicted = 0;
  double counted = 0;
  bool judged = true;  ///< whether the two are compared; false for padded matmuls, and for other matmuls if the counts
                       ///< of expert matmuls, whose rows vary, are subtracted from theirs
  std::optional<model::CoreRun> core = {};  ///< attention core that ran; absent for other operators
  bool within() const;
};

/// An operator that was counted separately, in a single run.
struct ApartCount {
  std::string op;
  Shape shape;
  bool backward = false;
  std::optional<model::CoreRun> core = {};  ///< attention core that ran; absent for other operators
  double flops = 0;
};

/// Counts the operators in run(trace) in one session of the backend's counters. The first run of each attention
/// operator and padded matmul gets a separate range. Throws std::runtime_error if counting fails.
std::vector<ApartCount> counted_apart(model::Backend& b, const std::function<void(model::Trace*)>& run);

/// `device`: the device that counted. `counted`: FLOPs of the whole phase. Every run of attention or a padded matmul is
/// assumed to execute as many FLOPs as its separately counted run; the rest is attributed to the other matmuls. Throws
/// std::runtime_error if a separate count is missing.
std::vector<TensorCount> tensor_counts(const model::Instruments& device, const PhaseWork& phase, double counted,
                                       const std::vector<ApartCount>& apart, AttentionImpl how);

}  // namespace llmcalc::validate
