#pragma once
/// Work of the tensor cores of a phase by kind, predicted and counted.

#include <functional>

#include "model/backend.hpp"
#include "model/trace.hpp"
#include "validate/tensor_work.hpp"

namespace llmcalc::validate {

/// Tolerance of counted FLOPs and of total memory, relative to their predictions.
inline constexpr double metered_tolerance = 0.02;

struct TensorCount {
  WorkKind kind = WorkKind::products;
  TensorFlops predicted = {};
  double counted = 0;
  bool judged = true;     ///< not: padded products, nor the others where experts' are taken from them, whose rows vary
  std::string core = {};  ///< of attention, as Backend::attention_core()
  bool within() const;
};

/// An operator that was counted alone, once.
struct ApartCount {
  std::string op;
  Shape shape;
  bool backward = false;
  std::string core;
  double flops = 0;
};

/// One session of the backend's counters over run(trace), which runs operators: the first of each that is attention or
/// is padded, in a range of its own. Throws std::runtime_error.
std::vector<ApartCount> counted_apart(model::Backend& b, const std::function<void(model::Trace*)>& run);

/// `counted`: FLOPs of the whole phase. Of attention and padded products each run counts as the one that was counted
/// alone; the rest are the other products. Throws std::runtime_error where one was not counted.
std::vector<TensorCount> tensor_counts(const PhaseWork& phase, double counted, const std::vector<ApartCount>& apart,
                                       AttentionImpl how);

}  // namespace llmcalc::validate
