#pragma once
/// Work of the tensor cores of a phase by kind, predicted and counted.

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
  bool judged = true;  ///< not: padded products, nor the others where experts' are taken from them, whose rows vary
  std::optional<model::CoreRun> core = {};  ///< of attention
  bool within() const;
};

/// An operator that was counted alone, once.
struct ApartCount {
  std::string op;
  Shape shape;
  bool backward = false;
  std::optional<model::CoreRun> core = {};  ///< of attention
  double flops = 0;
};

/// One session of the backend's counters over run(trace), which runs operators: the first of each that is attention or
/// is padded, in a range of its own. Throws std::runtime_error.
std::vector<ApartCount> counted_apart(model::Backend& b, const std::function<void(model::Trace*)>& run);

/// `device`: which counted. `counted`: FLOPs of the whole phase. Of attention and padded products each run counts as
/// the one that was counted alone; the rest are the other products. Throws std::runtime_error where one was not
/// counted.
std::vector<TensorCount> tensor_counts(const model::Instruments& device, const PhaseWork& phase, double counted,
                                       const std::vector<ApartCount>& apart, AttentionImpl how);

}  // namespace llmcalc::validate
