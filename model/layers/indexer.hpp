#pragma once
/// Inputs of an indexer's scores, and the choice that follows from them.

#include <cstdint>

#include "model/pass/heads.hpp"

namespace llmcalc::model {

/// The score of query i for key j, summed over the indexer's heads h:
///
///   lightning  sum of w_ih relu(q_ih . k_j): the heads' weights w are there (arXiv:2512.02556, 2.1)
///   blocks     sum of q_ih . k_j: there are none; a block has the greatest score of its tokens (MiniMax-M3,
///              "sparse_score_type": "max"). All heads make one choice: a reading of its config, like
///              calc/block/indexer.hpp
///
/// Scales of queries and weights that are alike for all keys do not change a choice; they are left out.
struct IndexView {
  HeadView q, k, weights;
};

/// Keys may be those of groups of tokens (IndexScores::pooled): a query then scores the whole groups up to itself.
///
/// Indices of the chosen tokens, blocks or groups of every query, `each` of them, ascending, -1 where there are fewer.
/// Of equal scores the lower index is chosen. The query's own block is chosen always, and only named where a block
/// before it would be.
using ChosenIndex = std::int32_t;

/// Destinations of the gradients, which are added there.
struct IndexGradients {
  HeadView q, k, weights;
};

}  // namespace llmcalc::model
