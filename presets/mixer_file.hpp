#pragma once
/// What mixes the tokens of a layer, as model files say it.
///
/// ATTENTION { "kind": "grouped", "heads", "kv_heads", "head_width"?  (default: hidden / heads), "value_width"?
///             (default: the head width), "qkv_bias", "out_bias", "qk_norm", "sinks"?, "gate"?: none | per_head |
///             per_channel, "bidirectional"? (an encoder's), "cross_attention"? (to the encoder), "value_norm"?,
///             "key_is_value"? (no projection of values), "shared_kv"? (those of the last layer before with the same
///             window), "query_scale"? (factors of the queries, beside shared_kv), "q_rank"? (a low rank of the queries
///             with a norm), "indexer"?: INDEXER }
///        or { "kind": "latent", "heads", "q_rank" (0: none), "kv_rank", "nope_width", "rope_width", "v_width",
///             "qkv_bias", "out_bias", "gate"?, "indexer"?: INDEXER }
///        or { "kind": "compressed", "heads", "head_width", "q_rank", "rope_width", "out_groups", "out_rank", "ratio"?
///             (tokens of a pooled key; none: the window alone), "overlap"?, "sinks"?, "qkv_bias", "out_bias" (false),
///             "indexer"?: INDEXER }
///        or { "kind": "none" }
/// INDEXER { "kind": "lightning", "heads", "width", "top_k" (tokens), "shared"? (takes what the last indexer chose) }
///      or { "kind": "blocks", "heads", "width", "top_k" (blocks), "block" (tokens of one), "shared"? }
/// RECURRENT { "kind": "gated_delta_net", "heads", "head_width" (of the values), "key_heads", "key_width", "taps" }
///        or { "kind": "kimi_delta", "heads", "head_width", "rank", "taps", "full_rank_gate"?, "decays"? (learned
///             logarithms, default: heads) }
///        or { "kind": "mamba", "channels", "state", "rank", "taps", "convolution_bias",
///             "inner_norms"? (of the step's rank, of B and of C) }; "heads" of "head_width" in the place of "channels"
///             share a step and a decay
///        or { "kind": "mamba2", "heads", "head_width", "groups", "state", "taps", "convolution_bias", "norm" }
///        or { "kind": "rwkv7", "heads", "head_width", "rank" (of the decay), "step_rank" (of the in-context learning
///             rate), "gate_rank", "value_rank"? (of the share of the values of the last layer before that has none) }
///        or { "kind": "rg_lru", "heads" (blocks of the gates), "head_width", "taps", "convolution_bias" }
///        or { "kind": "rwkv6", "heads", "head_width", "mix_rank"?, "rank" (of the decay; without mix_rank neither is
///             there: RWKV-5) }
///        or { "kind": "mlstm", "heads", "head_width", "key_width" }
///        or { "kind": "short_convolution", "channels", "taps", "convolution_bias" }
///           with "chunk"? (tokens that kernels take at once, default 0: one by one) and "state_bytes"? (default 4)

#include "calc/arch/mixer.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// `hidden`: the model's, from which a head width that is not given follows. Throws InputError.
void read_attention(const json::Object& o, Count hidden, Mixer& mixer);
Recurrent read_recurrent(const json::Object& o);

json::Value attention_json(const Mixer& mixer);
json::Value recurrent_json(const Recurrent& recurrent);

/// The choice of type E that `key` names. Throws InputError.
template <Named E>
E choice(const json::Object& o, std::string_view key);

}  // namespace llmcalc
