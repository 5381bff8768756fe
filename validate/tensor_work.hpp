#pragma once
/// Work of a GPU's tensor cores for an operator in bf16, as far as it is known.

#include <cstdint>
#include <optional>

#include "calc/plan.hpp"
#include "validate/phases.hpp"

namespace llmcalc::validate {

enum class WorkKind : std::uint8_t {
  products,  ///< of sizes that fill tiles, or of so few rows that they run outside the tensor cores: known exactly
  padded,    ///< products of other sizes, of which whole tiles are executed, and experts', whose rows data decides
  attention  ///< its core
};

/// None: no FLOPs.
std::optional<WorkKind> kind_of(const Shape& shape, bool backward);

/// A number of FLOPs, exact or between bounds.
struct TensorFlops {
  double least = 0, most = 0;
  bool exact() const { return least == most; }
};

/// Tensor-core FLOPs of one run. `core`: as Backend::attention_core(). Products: 2 per multiply-add of their sizes,
/// which is the least for those that are padded. Attention, by the core: own kernels on tensor cores execute whole
/// tiles of known size; cuDNN does too, of sizes that nothing documents: bounds of tiles of 64 to 128 queries by 64 to
/// 128 keys, multiples of 16, heads as wide as they are; one query, plain and naive attention run outside the tensor
/// cores.
TensorFlops tensor_flops(const OpRuns& op, AttentionImpl how, const std::string& core);

}  // namespace llmcalc::validate
