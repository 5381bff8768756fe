#pragma once
/// Token mixers, as in the papers: attention (mixer.cpp, compressed.cpp, cross.cpp) and recurrences
/// (recurrence.cpp).

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// The current layer's mixer on x (tokens, hidden): attention, a recurrence, or the sum of both.
Value mixed(Pass& p, Value x);

/// The decoder's attention to the encoder's result, from the layer's input x.
Value cross_attention(Pass& p, Value x);

/// The scale of q k': the model's own or, if it has none, 1 / sqrt(width).
double score_scale(const Pass& p, Count width);

/// Keys that the current layer's attention reads, chosen by its indexer or by an earlier layer's. `x`: the layer's
/// input. `low`: the normed low-rank projection of the queries, if the indexer reads it. Null: all keys in reach.
Tensor chosen_keys(Pass& p, Value x, Value low);
/// Names of the operators that pool keys: the projections of keys and gates, the pooling, its norm and its rotation.
struct PooledKeyNames {
  const char *keys, *gate, *pool, *norm, *rope;
};
/// Keys of `width` elements for token groups of x, each at the position of its group's first token. `detached`: an
/// indexer's keys, without a gradient of x.
Value pooled_keys(Pass& p, const PooledKeyNames& names, Value x, Count width, bool detached);
/// The current layer's compressed attention on x, as wide as x.
Value compressed_attention(Pass& p, Value x);

/// The current layer's recurrence (Mixer::recurrent) on x, as wide as x.
Value recurrence(Pass& p, Value x);

/// The current mixer's norm of queries or keys, x of `heads` heads: per head, or over a token's heads together. Returns
/// x if the mixer has no such norm.
Value qk_norm(Pass& p, std::string_view op, Value x, Count heads);

/// Lightning attention (MiniMax-01, arXiv:2501.08313) on x, as wide as x.
Value linear_attention(Pass& p, Value x);

}  // namespace llmcalc::model
