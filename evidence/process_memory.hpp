#pragma once
/// Memory of a training process as its software holds it: the tensors of calc/memory.hpp under what the software
/// stores, and by name what it allocates beside them.

#include <array>
#include <optional>
#include <string_view>

#include "calc/memory.hpp"
#include "evidence/memory_estimate.hpp"
#include "evidence/training_case.hpp"

namespace llmcalc {

/// Bytes of one rank. What is absent is not known, or not held by that software; nothing is 0 for want of knowledge.
struct ProcessMemory {
  Bytes tensors{};                          ///< states and activations at the worst moment (calc/memory.hpp)
  std::optional<Bytes> products{};          ///< results of products that per-operator recomputation keeps
  std::optional<Bytes> loss{};              ///< of the loss and the head's weight gradient, beyond the logits
  std::optional<Bytes> weight_gradients{};  ///< buffers of weight gradients beside those that are accumulated
  std::optional<Bytes> update{};            ///< copies of gradients while the optimizer steps, where that is the peak
  std::optional<Bytes> buckets{};           ///< of gradients that are reduced
  std::optional<Bytes> workspaces{};        ///< of matrix products
  std::optional<Bytes> process{};           ///< driver, kernels' code, communicators: what no allocator counts
  std::optional<Bytes> slack{};             ///< reserved by the allocator and not in use
  bool operator==(const ProcessMemory&) const = default;
};

/// A term beside the tensors, and its name.
struct ProcessTerm {
  std::string_view name;
  std::optional<Bytes> ProcessMemory::*bytes;
};
inline constexpr std::array memory_terms{ProcessTerm{"products", &ProcessMemory::products},
                                         ProcessTerm{"loss", &ProcessMemory::loss},
                                         ProcessTerm{"weight_gradients", &ProcessMemory::weight_gradients},
                                         ProcessTerm{"update", &ProcessMemory::update},
                                         ProcessTerm{"buckets", &ProcessMemory::buckets},
                                         ProcessTerm{"workspaces", &ProcessMemory::workspaces},
                                         ProcessTerm{"process", &ProcessMemory::process},
                                         ProcessTerm{"slack", &ProcessMemory::slack}};
Bytes total(const ProcessMemory& m);

/// Kinds of memory that are predicted about as well.
MemoryClass memory_class(MemoryKind kind);

/// The plan as memory sees it: the case's, with what its software stores by default.
Plan memory_plan(const TrainingCase& c);

/// Memory of the fullest rank of those that were looked at, as that kind counts it. Precondition: the case is not to be
/// skipped.
ProcessMemory process_memory(const TrainingCase& c, const MeasuredMemory& of, const MemoryParameters& fitted);

}  // namespace llmcalc
