#pragma once
/// The operators of an indexer, which chooses the keys that a layer's attention reads.
///
///   lightning  arXiv:2512.02556; hf glm_moe_dsa/modeling_glm_moe_dsa.py
///   blocks     github.com/ml-explore/mlx-lm, minimax_m3
///
/// Every tensor-parallel rank runs the whole indexer on all tokens. Its inputs get no gradient: a separate loss on the
/// chosen keys trains it (arXiv:2512.02556, 2.1). Counted: the backward pass of that loss from the scores to the
/// weights. Not counted: the loss and its target, made from attention's probabilities; Hadamard transforms of queries
/// and key, ReLU, the weighted sum over heads, and the search for the largest scores. The choice is a constant to the
/// model's loss, which trains no weight of an indexer.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// The layer's choice of keys: from index scores of its input x (tokens, hidden) and, for a lightning indexer, the
/// normed low-rank queries `low` (tokens, q_rank); or an earlier layer's choice. no_tensor if the layer reads all keys.
TensorId chosen_keys(SegmentBuilder& b, TensorId x, TensorId low);

}  // namespace llmcalc
