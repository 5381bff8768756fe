#pragma once
/// The work of a GPU's tensor cores in a bf16 operator.

#include <optional>

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Matmuls: 2 FLOPs per multiply-add of their shape, a lower bound for padded matmuls. Attention on tensor cores
/// executes whole tiles of known size; single-query, plain and naive attention run outside them. Absent if the operator
/// is neither a matmul nor attention.
std::optional<TensorWork> tensor_work(const TensorOp& op);

}  // namespace llmcalc::model::cuda
