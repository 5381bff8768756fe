#pragma once
/// What mixes the tokens of a layer, written like the papers: attention (mixer.cpp, compressed.cpp, cross.cpp),
/// recurrences (recurrence.cpp).

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// The current layer's mixer on x (tokens, hidden): attention, a recurrence, or the sum of both.
Value mixed(Pass& p, Value x);

/// The decoder's attention to the encoder's result, from the layer's x.
Value cross_attention(Pass& p, Value x);

/// The scale of q k': the model's own, or 1 / sqrt(width).
double score_scale(const Pass& p, Count width);

/// The keys that the current layer's attention reads, as its indexer chooses them, or an earlier layer's: from the
/// layer's input x and the normed low rank of the queries, where that is read. Null: all keys in reach.
Tensor chosen_keys(Pass& p, Value x, Value low);
/// Names of the operators that pool keys: projections of keys and gates, the pool itself, the norm and rotation behind.
struct PooledKeyNames {
  const char *keys, *gate, *pool, *norm, *rope;
};
/// Keys of `width` for groups of tokens of x, each at the position of its group's first token. `detached`: those of an
/// indexer, without a gradient of x.
Value pooled_keys(Pass& p, const PooledKeyNames& names, Value x, Count width, bool detached);
/// The current layer's compressed attention on x, as wide as x.
Value compressed_attention(Pass& p, Value x);

/// The current layer's recurrence (Mixer::recurrent) on x, as wide as x.
Value recurrence(Pass& p, Value x);

/// The norm that the current layer's mixer has of queries or keys, x of `heads` heads: of each head's row, or of a
/// token's heads together. Without one x itself.
Value qk_norm(Pass& p, std::string_view op, Value x, Count heads);

/// Lightning attention (MiniMax-01, arXiv:2501.08313) on x, as wide as x.
Value linear_attention(Pass& p, Value x);

}  // namespace llmcalc::model
