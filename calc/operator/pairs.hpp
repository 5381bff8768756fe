#pragma once
/// Number of query-key pairs that attention scores.

#include "calc/arch/mixer.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Twice the number of scored query-key pairs per head and sequence, so that causal_half is an integer. A chunk counts
/// as a separate sequence. Sources: formulas of Goon (3.2) for full; FlashAttention's benchmark for causal_half.
Count twice_pairs(Count queries, Count past, const Reach& reach, AttentionFlops convention);
/// Twice the number of pairs with selected keys.
Count twice_chosen_pairs(Count queries, Count past, const Selection& selection, AttentionFlops convention);

/// The pairs to count, under a convention: with the keys in reach, or with keys selected from them. Pooled keys, one
/// per `pooled` tokens, add to the keys in reach or (pooled_alone) replace them; the selection is then among pooled
/// keys.
struct Pairs {
  AttentionFlops convention;
  Reach reach{};
  Selection selection{};
  Count pooled = 0;
  bool pooled_alone = false;
  bool both_ways = false;  ///< tokens also see later tokens: under any convention all pairs count or, with a window,
                           ///< all pairs within it on both sides
};
Count twice_pairs(Count queries, Count past, const Pairs& pairs);

}  // namespace llmcalc
