#pragma once
/// Number of query-key pairs that attention scores.

#include "calc/arch/mixer.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Twice the number of scored query-key pairs per head and sequence, an integer under every convention. A chunk
/// counts as a separate sequence. Sources: formulas of Goon (3.2) for full; FlashAttention's benchmark for
/// causal_half.
Count twice_pairs(Count queries, Count past, const Reach& reach, AttentionFlops convention);
/// Twice the number of pairs with selected keys.
Count twice_chosen_pairs(Count queries, Count past, const Selection& selection, AttentionFlops convention);

/// The pairs to count under a convention: with all keys in reach, or only with selected keys. Pooled keys, one per
/// `pooled` tokens, are counted in addition to the keys in reach or, with pooled_alone, instead of them; the
/// selection is then among the pooled keys.
struct Pairs {
  AttentionFlops convention;
  Reach reach{};
  Selection selection{};
  Count pooled = 0;
  bool pooled_alone = false;
  bool both_ways = false;  ///< whether tokens also see later tokens; every convention then counts all pairs or, with a
                           ///< window, all pairs within the window on both sides
};
Count twice_pairs(Count queries, Count past, const Pairs& pairs);

}  // namespace llmcalc
