#pragma once
/// Small models whose attention reads keys that an indexer chooses.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// A lightning indexer that chooses 4 tokens, and one of blocks that chooses `blocks` of 2 tokens.
Indexer lightning_indexer();
Indexer block_indexer(Count blocks);

/// The latent heads of a DeepSeek under a lightning indexer.
Arch tiny_sparse(Count layers);
/// The same model, whose last layer takes the choice of the layer before it.
Arch with_shared_choice(Arch a);

std::vector<Variant> sparse_variants();

}  // namespace llmcalc::test
