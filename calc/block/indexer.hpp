#pragma once
/// The operators of an indexer, which selects the keys that a layer's attention reads.
///
///   lightning  arXiv:2512.02556; hf glm_moe_dsa/modeling_glm_moe_dsa.py
///   blocks     github.com/ml-explore/mlx-lm, minimax_m3
///
/// Every tensor-parallel rank runs the whole indexer on all tokens. Its inputs get no gradient: a separate loss on the
/// selected keys trains the indexer (arXiv:2512.02556, 2.1). Counted: the backward pass of this loss from the scores
/// to the weights. Not counted: the loss, and its target, which is computed from the attention probabilities;
/// Hadamard transforms of queries and key, ReLU, the weighted sum over heads, and the search for the largest scores.
/// The model's own loss treats the selection as constant, so it does not train the indexer's weights.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// The keys that the layer selects: those with the highest index scores, or an earlier layer's selection. Scores are
/// computed from the layer's input x (tokens, hidden) and, for a lightning indexer, from the normed low-rank queries
/// `low` (tokens, q_rank). Returns no_tensor if the layer reads all keys.
TensorId chosen_keys(SegmentBuilder& b, TensorId x, TensorId low);

}  // namespace llmcalc
