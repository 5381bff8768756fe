#pragma once
/// The operators of an indexer, which chooses the keys that a layer's attention reads.
///
///   lightning  arXiv:2512.02556; hf glm_moe_dsa/modeling_glm_moe_dsa.py
///   blocks     github.com/ml-explore/mlx-lm, minimax_m3
///
/// Every tensor-parallel rank runs the whole indexer on all tokens. Its inputs get no gradient: a loss of its own on
/// the chosen keys trains it (arXiv:2512.02556, 2.1). Counted is what that loss's gradient does from the scores down to
/// the weights; the loss itself, and the target that it makes of attention's probabilities, are left out. The choice is
/// a constant to the model's own loss, which trains no weight of an indexer. Left out too: Hadamard transforms of
/// queries and key, ReLU, the weighted sum over heads, and the search for the largest scores.

#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// The choice of the layer's keys: from index scores of its input x (tokens, hidden) and, of a lightning indexer, the
/// normed low rank of the queries `low` (tokens, q_rank); or an earlier layer's. no_tensor where the layer reads all.
TensorId chosen_keys(SegmentBuilder& b, TensorId x, TensorId low);

}  // namespace llmcalc
