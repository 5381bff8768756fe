#pragma once
/// The work of a GPU's tensor cores in a bf16 operator, as far as it is known.

#include <optional>

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Products: 2 per multiply-add of their sizes, which is the least for those that are padded. Attention, by the core:
/// own kernels on tensor cores execute whole tiles of known size; cuDNN does too, of sizes that nothing documents:
/// bounds of tiles of 64 to 128 queries by 64 to 128 keys, multiples of 16, heads as wide as they are; one query, plain
/// and naive attention run outside the tensor cores. None: no FLOPs.
std::optional<TensorWork> tensor_work(const TensorOp& op);

}  // namespace llmcalc::model::cuda
