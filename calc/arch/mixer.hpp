#pragma once
/// Shapes of a layer's token mixer: attention, a recurrence, both in parallel, or neither.

#include <array>
#include <cstdint>

#include "calc/arch/layer_set.hpp"
#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class AttentionKind : std::uint8_t {
  grouped,     ///< MHA (kv_heads = heads), GQA, MQA (kv_heads = 1)
  latent,      ///< multi-head latent attention of DeepSeek-V2 (arXiv:2405.04434)
  compressed,  ///< DeepSeek-V4: one key head whose keys double as values, over a window and pooled tokens
               ///< (Compressed)
  none         ///< no attention: only a recurrence, or no token mixing
};
template <>
inline constexpr auto choices<AttentionKind> =
    std::array{Choice{AttentionKind::grouped, "grouped"}, Choice{AttentionKind::latent, "latent"},
               Choice{AttentionKind::compressed, "compressed"}, Choice{AttentionKind::none, "none"}};

/// A sigmoid gate on attention's output, projected from the layer's input.
enum class AttentionGate : std::uint8_t {
  none,
  per_head,    ///< one value per head: hidden x heads (Step 3.5)
  per_channel  ///< one value per output element: hidden x heads x value width (Qwen3-Next)
};
template <>
inline constexpr auto choices<AttentionGate> =
    std::array{Choice{AttentionGate::none, "none"}, Choice{AttentionGate::per_head, "per_head"},
               Choice{AttentionGate::per_channel, "per_channel"}};

/// Normalization of queries and keys before the scores; each value states its parameter count.
enum class QkNorm : std::uint8_t {
  none,
  weight_free,    ///< 0 parameters (Llama 4)
  per_head,       ///< RMSNorm over the head width, shared by the heads: 2 x head_dim (Qwen 3, Gemma 3)
  per_head_bias,  ///< LayerNorm over the head width with bias: 4 x head_dim (Persimmon, Phi)
  each_head,  ///< LayerNorm per head without bias, separate weights: (heads + kv_heads) x head_dim (Cohere, StableLM)
  full,       ///< RMSNorm over the whole projected width: (heads + kv_heads) x head_dim (OLMo 2)
  full_bias,  ///< LayerNorm over the whole projected width with bias: 2 x (heads + kv_heads) x head_dim
  each_head_rms  ///< RMSNorm per head, separate weights: (heads + kv_heads) x head_dim (PLaMo 2)
};
template <>
inline constexpr auto choices<QkNorm> =
    std::array{Choice{QkNorm::none, "none"},           Choice{QkNorm::weight_free, "weight_free"},
               Choice{QkNorm::per_head, "per_head"},   Choice{QkNorm::per_head_bias, "per_head_bias"},
               Choice{QkNorm::each_head, "each_head"}, Choice{QkNorm::full, "full"},
               Choice{QkNorm::full_bias, "full_bias"}, Choice{QkNorm::each_head_rms, "each_head_rms"}};

/// The keys in reach that a query reads. block = 0: the `keys` keys with the highest scores. block > 0: `keys` keys
/// in whole blocks of `block` tokens, plus the query's own block up to the query. keys = 0: all keys in reach.
struct Selection {
  Count keys = 0, block = 0;
  constexpr bool operator==(const Selection&) const = default;
  constexpr bool chooses() const { return keys > 0; }
  /// Number of keys that the query of token t reads.
  constexpr Count seen(Count t) const {
    if (!chooses()) return t + 1;
    if (block == 0) return t < keys ? t + 1 : keys;
    const Count whole = t - t % block;
    return (whole < keys ? whole : keys) + t % block + 1;
  }
  /// Number of indices (of tokens or blocks) in a query's selection among `all` tokens.
  constexpr Count indices(Count all) const {
    const Count each = block == 0 ? 1 : block, most = keys / each, there = ceil_div(all, each);
    return most < there ? most : there;
  }
};

/// Indexer: a small attention module that selects a layer's keys by scoring its own queries against one cached key per
/// token.
enum class IndexerKind : std::uint8_t {
  none,
  lightning,  ///< DeepSeek-V3.2 (arXiv:2512.02556): queries from attention's low-rank queries; scores after ReLU,
              ///< weighted by head and summed; selects single tokens, or pooled keys of compressed attention
  blocks      ///< MiniMax-M3: queries from the layer's input, norms on queries and key; selects blocks of tokens
};
template <>
inline constexpr auto choices<IndexerKind> =
    std::array{Choice{IndexerKind::none, "none"}, Choice{IndexerKind::lightning, "lightning"},
               Choice{IndexerKind::blocks, "blocks"}};

/// Sizes of an indexer.
struct Indexer {
  IndexerKind kind = IndexerKind::none;
  Count heads = 0, width = 0;  ///< number of queries per token; width of each query and of the key
  Count top_k = 0;             ///< number of tokens or blocks selected per query
  Count block = 0;             ///< number of tokens per block
  bool shared = false;  ///< whether it reuses the selection of the last layer with an indexer, without weights or a
                        ///< cache (GLM-5.2)
  constexpr bool operator==(const Indexer&) const = default;
  constexpr Selection selection() const {
    if (kind == IndexerKind::none) return {};
    return kind == IndexerKind::lightning ? Selection{top_k, 0} : Selection{mul(top_k, block), block};
  }
  /// Whether the layer computes its own scores.
  constexpr bool runs() const { return kind != IndexerKind::none && !shared; }
};

/// Sizes of compressed attention in addition to its heads (hf deepseek_v4/modeling_deepseek_v4.py).
struct Compressed {
  Count ratio = 0;       ///< number of tokens pooled into one key, which every later query sees; 0: window only
  bool overlap = false;  ///< whether a pooled key uses its group's tokens and the preceding group's; projections are
                         ///< then twice as wide
  Count out_groups = 0,
        out_rank = 0;  ///< rank of the output projection, which is separate for each of out_groups groups of heads
  constexpr bool operator==(const Compressed&) const = default;
};

/// Widths of multi-head latent attention. q_rank = 0: queries are projected directly.
struct Latent {
  Count q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, v_dim = 0;
  constexpr bool operator==(const Latent&) const = default;
};

/// The range of tokens, counted from 0, that a token attends to: all tokens up to and including itself, only the last
/// `tokens` of these (a sliding window, arXiv:2004.05150), or only those in its chunk of `tokens` tokens (hf
/// llama4/modeling_llama4.py). In a bidirectional layer, the window is centered on the token: `tokens` is odd, with
/// side() tokens on each side.
template <typename Int>
struct ReachOf {
  Int tokens = 0;  ///< size of the window or chunk; 0: no limit
  bool chunked = false;
  constexpr bool operator==(const ReachOf&) const = default;
  constexpr bool limited() const { return tokens > 0; }
  /// Number of tokens on each side in a bidirectional window.
  constexpr Int side() const { return tokens / 2; }
  /// The first token that token t sees.
  constexpr Int first(Int t) const {
    if (tokens <= 0) return 0;
    if (chunked) return t - t % tokens;
    return t < tokens ? 0 : t - tokens + 1;
  }
  /// Number of tokens that token t sees, including itself.
  constexpr Int seen(Int t) const { return t + 1 - first(t); }
  /// The first of `all` tokens that no longer sees token t.
  constexpr Int end(Int t, Int all) const {
    if (tokens <= 0) return all;
    const Int behind = chunked ? first(t) + tokens : t + tokens;
    return behind < all ? behind : all;
  }
  /// Number of tokens that the cache holds out of `all`. Chunked attention needs the same cache size as a sliding
  /// window (hf cache_utils.py treats both the same way).
  constexpr Int held(Int all) const { return tokens > 0 && tokens < all ? tokens : all; }
};
using Reach = ReachOf<Count>;

/// Kinds of recurrence. A recurrent layer has a fixed-size state per sequence, which every token updates. Notation: H
/// heads with an N x P state each; K taps of the preceding depthwise convolutions.
enum class RecurrentKind : std::uint8_t {
  none,
  gated_delta_net,  ///< Qwen3-Next: delta rule with one decay per head (arXiv:2412.06464)
  kimi_delta,       ///< Kimi Linear: delta rule with one decay per key channel (arXiv:2510.26692)
  mamba,   ///< Mamba-1: selective scan over channels, each with a state of size N (arXiv:2312.00752); with heads of
           ///< several channels, a head's channels share a step and a decay, as in Mamba-2 (PLaMo 2)
  mamba2,  ///< Mamba-2: state-space duality, one decay per head (arXiv:2405.21060)
  rwkv7,   ///< RWKV-7: delta rule with separate keys for removal and writing (arXiv:2503.14456)
  short_convolution,  ///< LFM2: only a gated convolution; the state is its last inputs
  rg_lru,             ///< RecurrentGemma: one state value per channel; gates from a block-diagonal matrix over channels
                      ///< (arXiv:2402.19427)
  rwkv6,  ///< RWKV-5 and RWKV-6: one decay per key channel; a bonus on the current token's key (arXiv:2404.05892)
  mlstm   ///< xLSTM: one decay and one exponential gate per head, outputs divided by a normalizer (arXiv:2405.04517)
};
template <>
inline constexpr auto choices<RecurrentKind> = std::array{Choice{RecurrentKind::none, "none"},
                                                          Choice{RecurrentKind::gated_delta_net, "gated_delta_net"},
                                                          Choice{RecurrentKind::kimi_delta, "kimi_delta"},
                                                          Choice{RecurrentKind::mamba, "mamba"},
                                                          Choice{RecurrentKind::mamba2, "mamba2"},
                                                          Choice{RecurrentKind::rwkv7, "rwkv7"},
                                                          Choice{RecurrentKind::short_convolution, "short_convolution"},
                                                          Choice{RecurrentKind::rg_lru, "rg_lru"},
                                                          Choice{RecurrentKind::rwkv6, "rwkv6"},
                                                          Choice{RecurrentKind::mlstm, "mlstm"}};

/// Sizes of a recurrence. Their meaning depends on its kind; sizes that a kind does not use are 0.
struct Recurrent {
  RecurrentKind kind = RecurrentKind::none;
  Count heads = 0;      ///< H: number of value heads, of channels (Mamba-1 without heads, short convolution) or of
                        ///< blocks (rg_lru)
  Count head_dim = 0;   ///< P: width of a head's values; 1 if heads are channels
  Count key_heads = 0;  ///< number of heads of queries and keys (DeltaNet) or of groups (Mamba-2); KDA, RWKV, mlstm: H;
                        ///< mamba: 1; rg_lru: 0
  Count key_dim = 0;    ///< N: width of queries and keys, state size per channel; rg_lru: 1
  Count taps = 0;       ///< K: number of taps of the convolutions
  Count rank = 0;       ///< rank of the projection to the step (mamba), decay and gate (KDA), decay (RWKV-6, RWKV-7)
  Count mix_rank = 0;   ///< RWKV-6: rank of the token-dependent terms of the five mixing weights; 0: decays and mixing
                        ///< weights are the same for every token (RWKV-5), and `rank` is 0
  Count step_rank = 0, gate_rank = 0;  ///< RWKV-7: ranks of the in-context learning rate and of the gate
  Count value_rank = 0;  ///< RWKV-7: rank of the gate that mixes in the values of the last earlier layer with
                         ///< value_rank 0; 0: no gate, and later layers read this layer's values
  bool convolution_bias = false;
  bool gated_norm = false;      ///< Mamba-2: whether an RMSNorm covers all heads' outputs
  bool inner_norms = false;     ///< mamba: whether RMSNorms follow the low-rank step, B and C (Jamba, PLaMo 2)
  bool full_rank_gate = false;  ///< KDA: whether the output gate is a single matrix
  Count decays = 0;             ///< KDA: number of learned log decays; 0: one per head
  Count chunk = 0;              ///< number of tokens per chunk in prefill and training kernels; 0: token by token
  Count state_bytes = 4;        ///< number of bytes per state element; 4: float32
  constexpr bool operator==(const Recurrent&) const = default;
  /// Total width of the values of all heads.
  constexpr Count width() const { return mul(heads, head_dim); }
  /// Whether the recurrence mixes an earlier layer's values into its own; gives_values(): whether later layers may
  /// read its values.
  constexpr bool reads_values() const { return value_rank > 0; }
  constexpr bool gives_values() const { return kind == RecurrentKind::rwkv7 && value_rank == 0; }
};

/// The part of a layer that mixes tokens. If a layer has both attention and a recurrence, both read the same input
/// and their results are added (Falcon H1).
struct Mixer {
  AttentionKind attention = AttentionKind::grouped;
  Count heads = 0, kv_heads = 0, head_dim = 0;
  Count value_dim = 0;  ///< value width of grouped attention; 0: same as the keys
  Latent latent;        ///< compressed attention uses q_rank and rope_dim; grouped attention uses q_rank, the rank of a
                        ///< low-rank query projection with a norm (Step 3; 0: full rank)
  Compressed compressed;
  QkNorm qk_norm = QkNorm::none;
  bool qkv_bias = false, attention_out_bias = false;
  bool attention_sinks = false;  ///< whether every head has a learned logit as attention sink (gpt-oss)
  bool bidirectional = false;    ///< whether a token sees its whole sequence (encoders); there is then no cache
  bool cross_attention = false;  ///< whether a second attention of equal shape reads the encoder's result (T5 decoder)
  bool value_norm = false;       ///< grouped attention: whether each head's values have a weight-free RMSNorm (Gemma 4)
  bool key_is_value = false;     ///< whether values are the keys before norm and rotation, without a value projection
                                 ///< (Gemma 4)
  bool shared_kv = false;    ///< whether it reads the keys and values of the last earlier layer of the same reach that
                             ///< computes any; only that layer caches them (Gemma 3n, Gemma 4)
  bool query_scale = false;  ///< with shared keys: whether head_dim learned scales on every head's queries replace the
                             ///< weights of a norm on those keys (Hunyuan-Large)
  AttentionGate attention_gate = AttentionGate::none;
  Indexer indexer;
  Recurrent recurrent;
  constexpr bool operator==(const Mixer&) const = default;
  /// Width of one head's values.
  constexpr Count v_dim() const {
    if (attention == AttentionKind::latent) return latent.v_dim;
    return value_dim > 0 ? value_dim : head_dim;
  }
  /// Output width of the projections for a pooled key: twice the key's width if pooled groups overlap.
  constexpr Count pool_width(Count key) const { return compressed.overlap ? mul(2, key) : key; }
  constexpr Count attention_width() const { return mul(heads, v_dim()); }
  /// Whether the mixer reads an earlier layer's keys and values (or only values); gives_kv(): whether later layers
  /// may read this mixer's.
  constexpr bool reads_kv() const { return shared_kv || recurrent.reads_values(); }
  constexpr bool gives_kv() const {
    return (attention == AttentionKind::grouped && !shared_kv) || recurrent.gives_values();
  }
  constexpr bool is_empty() const { return attention == AttentionKind::none && recurrent.kind == RecurrentKind::none; }
};

}  // namespace llmcalc
