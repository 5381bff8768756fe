#pragma once
/// Compressed attention (DeepSeek-V4; hf deepseek_v4/modeling_deepseek_v4.py).
///
/// Queries of all heads come from a low-rank projection. Keys have one head and double as the values: each query
/// reads one key per token within a window, and one pooled key per earlier group of tokens. A lightning indexer with
/// its own pooled keys may select among the pooled keys. The output is rotated back (inverse RoPE) and goes through a
/// low-rank projection per group of heads. Keys are replicated on every tensor-parallel rank; heads are sharded.

#include "calc/arch/layer_kinds.hpp"
#include "calc/block/segment_builder.hpp"

namespace llmcalc {

/// Names of the operators that pool keys: projections of keys and gates, the pool, and the norm and rotation after it.
struct PoolNames {
  std::string_view keys, gate, pool, norm, rope;
};
/// Pooled keys of width `width`, computed from x (tokens, hidden). `detached`: for an indexer, on every rank and
/// without a gradient for x.
TensorId pooled_keys(SegmentBuilder& b, const PoolNames& names, TensorId x, Count width, bool detached);

/// The layer's attention on x (tokens, hidden). The result has the width of x and must still be summed across ranks.
TensorId compressed_attention(SegmentBuilder& b, const LayerKind& kind, TensorId x);

}  // namespace llmcalc
