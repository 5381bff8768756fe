#pragma once
/// The work of a GPU's tensor cores in a bf16 operator.

#include <optional>

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Products: 2 per multiply-add of their sizes, which is the least for those that are padded. Attention on tensor cores
/// executes whole tiles of known size; one query, plain and naive attention run outside them. None: no FLOPs.
std::optional<TensorWork> tensor_work(const TensorOp& op);

}  // namespace llmcalc::model::cuda
