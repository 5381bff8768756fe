#pragma once
/// Compressed attention (DeepSeek-V4; hf deepseek_v4/modeling_deepseek_v4.py).
///
/// Queries of all heads go through a low rank. One head of keys, which are the values too, is made of every token for a
/// window, and of groups of tokens for all later ones; a lightning indexer over pooled keys of its own may choose among
/// those. The output is rotated back and goes through a low rank per group of heads. Keys are whole on every
/// tensor-parallel rank, and heads are cut.

#include "calc/arch/layer_kinds.hpp"
#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Names of the operators that pool keys: projections of keys and gates, the pool itself, the norm and rotation behind.
struct PoolNames {
  std::string_view keys, gate, pool, norm, rope;
};
/// Pooled keys of `width` from x (tokens, hidden). `detached`: those of an indexer, on every rank, x without gradient.
TensorId pooled_keys(SegmentBuilder& b, const PoolNames& names, TensorId x, Count width, bool detached);

/// The layer's attention on x (tokens, hidden); the result is as wide, still to be summed over the ranks.
TensorId compressed_attention(SegmentBuilder& b, const LayerKind& kind, TensorId x);

}  // namespace llmcalc
