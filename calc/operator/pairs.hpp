#pragma once
/// Numbers of query-key pairs that attention scores.

#include "calc/arch/mixer.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Twice the number of scored query-key pairs per head and sequence, so that causal_half is an integer. A chunk
/// counts as a sequence of its own. Source: formulas of Goon (3.2) for full; FlashAttention's benchmark for
/// causal_half.
Count twice_pairs(Count queries, Count past, const Reach& reach, AttentionFlops convention);
/// The same of the keys that a selection chooses.
Count twice_chosen_pairs(Count queries, Count past, const Selection& selection, AttentionFlops convention);

/// Pairs that are counted: under a convention, of the keys in reach, or those chosen of them; with pooled keys, one of
/// `pooled` tokens each, besides the keys in reach or alone, and the choice is then among them.
struct Pairs {
  AttentionFlops convention;
  Reach reach{};
  Selection selection{};
  Count pooled = 0;
  bool pooled_alone = false;
  bool both_ways = false;  ///< tokens see later ones: all pairs, or of a window those on both sides; one convention
};
Count twice_pairs(Count queries, Count past, const Pairs& pairs);

}  // namespace llmcalc
