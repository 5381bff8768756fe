#pragma once
/// Shapes of what mixes the tokens of a layer: attention, a recurrence, both side by side, or neither.

#include <array>
#include <cstdint>

#include "calc/arch/layer_set.hpp"
#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class AttentionKind : std::uint8_t {
  grouped,     ///< MHA (kv_heads = heads), GQA, MQA (kv_heads = 1)
  latent,      ///< multi-head latent attention of DeepSeek-V2 (arXiv:2405.04434)
  compressed,  ///< DeepSeek-V4: one head of keys that are the values, too, of a window and of pooled tokens
               ///< (Compressed)
  none         ///< no attention: a recurrence alone, or nothing that mixes tokens
};
template <>
inline constexpr auto choices<AttentionKind> =
    std::array{Choice{AttentionKind::grouped, "grouped"}, Choice{AttentionKind::latent, "latent"},
               Choice{AttentionKind::compressed, "compressed"}, Choice{AttentionKind::none, "none"}};

/// A sigmoid of a projection of the layer's input, by which the output of attention is multiplied.
enum class AttentionGate : std::uint8_t {
  none,
  per_head,    ///< one number per head: hidden x heads (Step 3.5)
  per_channel  ///< one per number of the output: hidden x heads x value width (Qwen3-Next)
};
template <>
inline constexpr auto choices<AttentionGate> =
    std::array{Choice{AttentionGate::none, "none"}, Choice{AttentionGate::per_head, "per_head"},
               Choice{AttentionGate::per_channel, "per_channel"}};

/// Normalisation of queries and keys before the scores.
enum class QkNorm : std::uint8_t {
  none,
  weight_free,    ///< 0 parameters (Llama 4)
  per_head,       ///< RMSNorm of the head width, shared by the heads: 2 x head_dim (Qwen 3, Gemma 3)
  per_head_bias,  ///< LayerNorm of the head width with bias: 4 x head_dim (Persimmon, Phi)
  each_head,      ///< LayerNorm of each head without bias, weights of its own: (heads + kv_heads) x head_dim (Cohere,
                  ///< StableLM)
  full,           ///< RMSNorm of the whole projected width: (heads + kv_heads) x head_dim (OLMo 2)
  full_bias,      ///< LayerNorm of the whole projected width with bias: twice as many
  each_head_rms   ///< RMSNorm of each head, weights of its own: (heads + kv_heads) x head_dim (PLaMo 2)
};
template <>
inline constexpr auto choices<QkNorm> =
    std::array{Choice{QkNorm::none, "none"},           Choice{QkNorm::weight_free, "weight_free"},
               Choice{QkNorm::per_head, "per_head"},   Choice{QkNorm::per_head_bias, "per_head_bias"},
               Choice{QkNorm::each_head, "each_head"}, Choice{QkNorm::full, "full"},
               Choice{QkNorm::full_bias, "full_bias"}, Choice{QkNorm::each_head_rms, "each_head_rms"}};

/// The keys that attention reads of those in reach, chosen for every query: the `keys` best, or (block > 0) `keys` in
/// whole blocks of `block` tokens and, of the query's own block, those up to itself. keys = 0: all.
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
  /// Number of indices, of tokens or of blocks, that a query's choice among `all` tokens takes.
  constexpr Count indices(Count all) const {
    const Count each = block == 0 ? 1 : block, most = keys / each, there = ceil_div(all, each);
    return most < there ? most : there;
  }
};

/// The small attention that chooses the keys of a layer: its queries meet one key per token, which it caches.
enum class IndexerKind : std::uint8_t {
  none,
  lightning,  ///< DeepSeek-V3.2 (arXiv:2512.02556): queries from the low rank of attention's; scores under ReLU,
              ///< weighted by head and summed; single tokens are chosen, or pooled keys of compressed attention
  blocks      ///< MiniMax-M3: queries from the layer's input, norms on queries and key; blocks of tokens are chosen
};
template <>
inline constexpr auto choices<IndexerKind> =
    std::array{Choice{IndexerKind::none, "none"}, Choice{IndexerKind::lightning, "lightning"},
               Choice{IndexerKind::blocks, "blocks"}};

/// Sizes of an indexer.
struct Indexer {
  IndexerKind kind = IndexerKind::none;
  Count heads = 0, width = 0;  ///< queries per token, and the width of each and of the key
  Count top_k = 0;             ///< tokens, or blocks, that are chosen
  Count block = 0;             ///< tokens of a block
  bool shared = false;  ///< the layer takes what the last layer with an indexer chose: no weights, no cache (GLM-5.2)
  constexpr bool operator==(const Indexer&) const = default;
  constexpr Selection selection() const {
    if (kind == IndexerKind::none) return {};
    return kind == IndexerKind::lightning ? Selection{top_k, 0} : Selection{mul(top_k, block), block};
  }
  /// Whether the layer computes scores of its own.
  constexpr bool runs() const { return kind != IndexerKind::none && !shared; }
};

/// Sizes of compressed attention besides its heads (hf deepseek_v4/modeling_deepseek_v4.py).
struct Compressed {
  Count ratio = 0;       ///< tokens that are pooled into one key, which every later query sees; 0: the window alone
  bool overlap = false;  ///< a pooled key is made of its own tokens and of those before them: projections twice as wide
  Count out_groups = 0,
        out_rank = 0;  ///< the heads' outputs go through a low rank, each group of heads through its own
  constexpr bool operator==(const Compressed&) const = default;
};

/// Widths of multi-head latent attention. q_rank = 0: queries are projected directly.
struct Latent {
  Count q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, v_dim = 0;
  constexpr bool operator==(const Latent&) const = default;
};

/// The tokens that a token attends to, counted from 0: all up to itself, the last `tokens` (a sliding window,
/// arXiv:2004.05150), or those in its own chunk of `tokens` (hf llama4/modeling_llama4.py). In a layer that sees both
/// ways a window has the token in its middle: `tokens` is odd, and side() of them are on each side.
template <typename Int>
struct ReachOf {
  Int tokens = 0;  ///< 0: all
  bool chunked = false;
  constexpr bool operator==(const ReachOf&) const = default;
  constexpr bool limited() const { return tokens > 0; }
  /// Tokens that a window which sees both ways has on each side.
  constexpr Int side() const { return tokens / 2; }
  /// The first token that token t sees.
  constexpr Int first(Int t) const {
    if (tokens <= 0) return 0;
    if (chunked) return t - t % tokens;
    return t < tokens ? 0 : t - tokens + 1;
  }
  /// Number of tokens that token t sees, itself included.
  constexpr Int seen(Int t) const { return t + 1 - first(t); }
  /// The first of `all` tokens that no longer sees token t.
  constexpr Int end(Int t, Int all) const {
    if (tokens <= 0) return all;
    const Int behind = chunked ? first(t) + tokens : t + tokens;
    return behind < all ? behind : all;
  }
  /// Tokens that the cache holds of `all`. A chunk needs as large a cache as a window (hf cache_utils.py treats both
  /// alike).
  constexpr Int held(Int all) const { return tokens > 0 && tokens < all ? tokens : all; }
};
using Reach = ReachOf<Count>;

/// The kind of a recurrence: a layer keeps a state of fixed size of a sequence, and every token updates it. H heads
/// with a state of N x P each; taps K of the depthwise convolutions before it.
enum class RecurrentKind : std::uint8_t {
  none,
  gated_delta_net,    ///< Qwen3-Next: the delta rule under one decay per head (arXiv:2412.06464)
  kimi_delta,         ///< Kimi Linear: the delta rule under one decay per channel of the key (arXiv:2510.26692)
  mamba,              ///< Mamba-1: selective scan of hidden channels with a state of N each (arXiv:2312.00752); wider
                      ///< heads share a step and a decay, as Mamba-2's do (PLaMo 2)
  mamba2,             ///< Mamba-2: state-space duality, one decay per head (arXiv:2405.21060)
  rwkv7,              ///< RWKV-7: a delta rule that removes by another key than it writes (arXiv:2503.14456)
  short_convolution,  ///< LFM2: a gated convolution alone; no state besides its taps
  rg_lru,  ///< RecurrentGemma: a number per channel, gates by a matrix per block of channels (arXiv:2402.19427)
  rwkv6,   ///< RWKV-5 and RWKV-6: one decay per channel of the key; a token's own key under a bonus (arXiv:2404.05892)
  mlstm    ///< xLSTM: one decay and one exponential gate per head, outputs over a normaliser (arXiv:2405.04517)
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

/// Sizes of a recurrence. Its kind says what each is; those that it does not name are 0.
struct Recurrent {
  RecurrentKind kind = RecurrentKind::none;
  Count heads = 0;      ///< H: value heads; of Mamba-1 without heads and of a short convolution the channels; of rg_lru
                        ///< the blocks
  Count head_dim = 0;   ///< P: width of a head's values; 1 where the heads are channels
  Count key_heads = 0;  ///< heads of queries and keys (DeltaNet), groups (Mamba-2); KDA, RWKV, mlstm: H; mamba: 1;
                        ///< rg_lru: 0
  Count key_dim = 0;    ///< N: width of queries and keys, size of the state per channel; rg_lru: 1
  Count taps = 0;       ///< K of the convolutions
  Count rank = 0;       ///< mamba: of the step's projection; KDA: of decay and gate; RWKV-6, RWKV-7: of the decay
  Count mix_rank = 0;   ///< RWKV-6: of what is added to the shares of each of five mixes; 0: decays and shares are the
                        ///< same for every token (RWKV-5), and `rank` is 0
  Count step_rank = 0, gate_rank = 0;  ///< RWKV-7: of the in-context learning rate, and of the gate
  Count value_rank = 0;  ///< RWKV-7: of the gate between the layer's values and those of the last layer before it
                         ///< that has none; 0: it has none, and later layers read its values
  bool convolution_bias = false;
  bool gated_norm = false;      ///< Mamba-2: an RMSNorm of all heads' outputs
  bool inner_norms = false;     ///< mamba: RMSNorms of the step's low rank, of B and of C (Jamba, PLaMo 2)
  bool full_rank_gate = false;  ///< KDA: the output gate is one matrix
  Count decays = 0;             ///< KDA: learned logarithms of decay, where they are not one per head
  Count chunk = 0;              ///< tokens that a prompt's or a training step's kernels take at once; 0: one by one
  Count state_bytes = 4;        ///< per number of the state: float32
  constexpr bool operator==(const Recurrent&) const = default;
  /// Channels of all heads' values.
  constexpr Count width() const { return mul(heads, head_dim); }
  /// Whether its values are mixed with those of an earlier layer, and whether they may be mixed into later ones'.
  constexpr bool reads_values() const { return value_rank > 0; }
  constexpr bool gives_values() const { return kind == RecurrentKind::rwkv7 && value_rank == 0; }
};

/// The part of a layer that mixes tokens. Attention and a recurrence in one layer read the same input and are added
/// (Falcon H1).
struct Mixer {
  AttentionKind attention = AttentionKind::grouped;
  Count heads = 0, kv_heads = 0, head_dim = 0;
  Count value_dim = 0;  ///< of grouped attention's values; 0: as wide as its keys
  Latent latent;        ///< of compressed attention: q_rank and rope_dim; of grouped attention: q_rank, a low rank
                        ///< of the queries with a norm, 0: none (Step 3)
  Compressed compressed;
  QkNorm qk_norm = QkNorm::none;
  bool qkv_bias = false, attention_out_bias = false;
  bool attention_sinks = false;  ///< one learned logit per head (gpt-oss)
  bool bidirectional = false;    ///< a token sees all of its sequence (an encoder's); nothing is cached
  bool cross_attention = false;  ///< a second attention of the same shape reads the encoder's result (T5's decoder)
  bool value_norm = false;       ///< of grouped attention: an RMSNorm of each head's values without weights (Gemma 4)
  bool key_is_value = false;     ///< no projection of values: they are the keys before norm and rotation (Gemma 4)
  bool shared_kv = false;        ///< no keys and values of its own: those of the last layer before it that has the same
                                 ///< reach and its own ones, which alone caches them (Gemma 3n, Gemma 4)
  bool query_scale = false;      ///< of shared keys: head_dim learned numbers scale the queries of every head, in the
                                 ///< place of the weights of a norm of those keys (Hunyuan-Large)
  AttentionGate attention_gate = AttentionGate::none;
  Indexer indexer;
  Recurrent recurrent;
  constexpr bool operator==(const Mixer&) const = default;
  /// Width of one head's values.
  constexpr Count v_dim() const {
    if (attention == AttentionKind::latent) return latent.v_dim;
    return value_dim > 0 ? value_dim : head_dim;
  }
  /// Width of a pooled key's projections: twice its own where pooled tokens overlap.
  constexpr Count pool_width(Count key) const { return compressed.overlap ? mul(2, key) : key; }
  constexpr Count attention_width() const { return mul(heads, v_dim()); }
  /// Whether it reads keys and values, or values alone, of an earlier layer, and whether later ones may read its own.
  constexpr bool reads_kv() const { return shared_kv || recurrent.reads_values(); }
  constexpr bool gives_kv() const {
    return (attention == AttentionKind::grouped && !shared_kv) || recurrent.gives_values();
  }
  constexpr bool is_empty() const { return attention == AttentionKind::none && recurrent.kind == RecurrentKind::none; }
};

}  // namespace llmcalc
