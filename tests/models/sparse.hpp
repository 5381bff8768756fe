#pragma once
/// Small models whose attention reads keys selected by an indexer.

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

/// An indexer that selects 4 tokens (lightning), and one that selects `blocks` blocks of 2 tokens.
Indexer lightning_indexer();
Indexer block_indexer(Count blocks);

/// DeepSeek's latent attention with a lightning indexer.
Arch tiny_sparse(Count layers);
/// The same model, with a last layer that reuses the previous layer's selection.
Arch with_shared_choice(Arch a);

std::vector<Variant> sparse_variants();

}  // namespace llmcalc::test
