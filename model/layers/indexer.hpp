#pragma once
/// Inputs of an indexer's scores, and the resulting choice.

#include <cstdint>

#include "model/pass/heads.hpp"

namespace llmcalc::model {

/// The score of query i for key j, summed over the indexer's heads h:
///
///   lightning  sum of w_ih relu(q_ih . k_j), with head weights w (arXiv:2512.02556, 2.1)
///   blocks     sum of q_ih . k_j, without weights; a block's score is its tokens' maximum (MiniMax-M3,
///              "sparse_score_type": "max"). All heads share one choice, as we interpret the config; see
///              calc/block/indexer.hpp
///
/// Scales of queries and weights that are equal for all keys do not change a choice and are omitted. Keys may be keys
/// of token groups (IndexScores::pooled); a query then scores the groups that are complete at its position.
struct IndexView {
  HeadView q, k, weights;
};

/// Index of a chosen token, block or group. Every query has `each` indices in ascending order, padded with -1. Ties
/// go to the lower index. The query's own block is always read and never listed.
using ChosenIndex = std::int32_t;

/// Destinations of the gradients, which are accumulated.
struct IndexGradients {
  HeadView q, k, weights;
};

}  // namespace llmcalc::model
