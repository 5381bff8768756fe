#pragma once
/// The operators of an indexer, which chooses the keys that a layer's attention reads.
///
///   lightning  arXiv:2512.02556; hf glm_moe_dsa/modeling_glm_moe_dsa.py
///   blocks     github.com/ml-explore/mlx-lm, minimax_m3
///
/// Every tensor-parallel rank runs the whole indexer on all tokens. Its inputs get no gradient: a loss of its own on
/// the chosen keys trains it (arXiv:2512.02556, 2.1); that loss itself is left out. Left out too: Hadamard transforms
/// of queries and key, ReLU, the weighted sum over heads, and the search for the largest scores.

#include "calc/segment_builder.hpp"

namespace llmcalc {

/// Index scores of the layer's input x (tokens, hidden) and, of a lightning indexer, the normed low rank of the queries
/// `low` (tokens, q_rank). Nothing where the layer has no indexer, or takes what an earlier one chose.
void index_scores(SegmentBuilder& b, TensorId x, TensorId low);

}  // namespace llmcalc
