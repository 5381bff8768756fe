#pragma once
/// Token mixers of layers, as written in model files.
///
/// ATTENTION { "kind": "grouped", "heads", "kv_heads", "head_width"?  (default: hidden / heads), "value_width"?
///             (default: the head width), "qkv_bias", "out_bias", "qk_norm", "sinks"?, "gate"?: none | per_head |
///             per_channel, "bidirectional"? (encoder), "cross_attention"? (to the encoder), "value_norm"?,
///             "key_is_value"? (no value projection), "shared_kv"? (from the last earlier layer with the same window),
///             "query_scale"? (factors of the queries, with shared_kv), "q_rank"? (rank of low-rank queries, with a
///             norm), "indexer"?: INDEXER }
///        or { "kind": "latent", "heads", "q_rank" (0: none), "kv_rank", "nope_width", "rope_width", "v_width",
///             "qkv_bias", "out_bias", "gate"?, "indexer"?: INDEXER }
///        or { "kind": "compressed", "heads", "head_width", "q_rank", "rope_width", "out_groups", "out_rank", "ratio"?
///             (tokens per pooled key; absent: window only), "overlap"?, "sinks"?, "qkv_bias", "out_bias" (false),
///             "indexer"?: INDEXER }
///        or { "kind": "none" }
/// INDEXER { "kind": "lightning", "heads", "width", "top_k" (tokens), "shared"? (reuses the last indexer's selection) }
///      or { "kind": "blocks", "heads", "width", "top_k" (blocks), "block" (tokens per block), "shared"? }
/// RECURRENT { "kind": "gated_delta_net", "heads", "head_width" (values), "key_heads", "key_width", "taps" }
///        or { "kind": "kimi_delta", "heads", "head_width", "rank", "taps", "full_rank_gate"?, "decays"? (learned
///             logarithms, default: heads) }
///        or { "kind": "mamba", "channels", "state", "rank", "taps", "convolution_bias",
///             "inner_norms"? (of the low-rank step, B and C) }; with "heads" and "head_width" instead of "channels",
///             the channels of a head share a step and a decay
///        or { "kind": "mamba2", "heads", "head_width", "groups", "state", "taps", "convolution_bias", "norm" }
///        or { "kind": "rwkv7", "heads", "head_width", "rank" (decay), "step_rank" (in-context learning rate),
///             "gate_rank", "value_rank"? (blend with the values of the last earlier layer without one) }
///        or { "kind": "rg_lru", "heads" (gate blocks), "head_width", "taps", "convolution_bias" }
///        or { "kind": "rwkv6", "heads", "head_width", "mix_rank"?, "rank" (decay; RWKV-5 has neither) }
///        or { "kind": "mlstm", "heads", "head_width", "key_width" }
///        or { "kind": "short_convolution", "channels", "taps", "convolution_bias" }
///           with "chunk"? (tokens per kernel step, default 0: one by one) and "state_bytes"? (default 4)

#include "calc/arch/mixer.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Reads ATTENTION. `hidden`: model width, which determines the default head width. Throws InputError if it is invalid.
void read_attention(const json::Object& o, Count hidden, Mixer& mixer);
Recurrent read_recurrent(const json::Object& o);

json::Value attention_json(const Mixer& mixer);
json::Value recurrent_json(const Recurrent& recurrent);

/// Reads an enum value by name from `key`. Throws InputError for unknown names.
template <Named E>
E choice(const json::Object& o, std::string_view key);

}  // namespace llmcalc
