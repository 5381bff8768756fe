#pragma once
/// The architecture of a decoder-only transformer: sizes and closed choices, nothing about how or where it runs.
///
/// An Arch is explicit: presets/import fills in whatever a Hugging Face config leaves to its family's defaults.

#include <array>
#include <bit>
#include <cstdint>

#include "calc/choice.hpp"
#include "calc/units.hpp"

namespace llmcalc {

inline constexpr Count max_layers = 1024;

/// A set of layer indices, in place: which layers have experts, local attention, or linear attention.
class LayerSet {
 public:
  constexpr void insert(Count layer) { word(layer) |= bit(layer); }
  constexpr bool contains(Count layer) const { return (bits_[static_cast<std::size_t>(layer) / 64] & bit(layer)) != 0; }
  constexpr Count size() const {
    Count n = 0;
    for (const std::uint64_t w : bits_) n += std::popcount(w);
    return n;
  }
  /// Number of indices below `layer`.
  constexpr Count below(Count layer) const {
    Count n = 0;
    const std::size_t full = static_cast<std::size_t>(layer) / 64;
    for (std::size_t i = 0; i < full; ++i)
      if (bits_[i] != 0) n += std::popcount(bits_[i]);
    if (layer % 64 != 0) n += std::popcount(bits_[full] & (bit(layer) - 1));
    return n;
  }
  constexpr bool empty() const {
    for (const std::uint64_t w : bits_)
      if (w != 0) return false;
    return true;
  }
  /// The highest and the lowest index; -1 if the set is empty.
  constexpr Count last() const {
    for (std::size_t i = bits_.size(); i-- > 0;)
      if (bits_[i] != 0) return static_cast<Count>(64 * i + 63) - std::countl_zero(bits_[i]);
    return -1;
  }
  /// The highest index below `layer`; -1: none.
  constexpr Count last_below(Count layer) const {
    while (layer > 0 && !contains(layer - 1)) --layer;
    return layer - 1;
  }
  constexpr Count first() const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if (bits_[i] != 0) return static_cast<Count>(64 * i) + std::countr_zero(bits_[i]);
    return -1;
  }
  /// The indices that are in `other` too, or (keep false) that are not.
  constexpr LayerSet filtered(const LayerSet& other, bool keep) const {
    LayerSet s;
    for (std::size_t i = 0; i < bits_.size(); ++i) s.bits_[i] = bits_[i] & (keep ? other.bits_[i] : ~other.bits_[i]);
    return s;
  }
  /// Every `step`-th layer of [first, layers).
  static constexpr LayerSet every(Count first, Count step, Count layers) {
    LayerSet s;
    for (Count i = first; i < layers; i += step) s.insert(i);
    return s;
  }
  static constexpr LayerSet all(Count layers) {
    LayerSet s;
    for (std::size_t i = 0; i < s.bits_.size() && layers > 0; ++i, layers -= 64)
      s.bits_[i] = layers >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << layers) - 1;
    return s;
  }
  constexpr bool operator==(const LayerSet&) const = default;

 private:
  static constexpr std::uint64_t bit(Count layer) {
    return std::uint64_t{1} << (static_cast<std::uint64_t>(layer) % 64);
  }
  constexpr std::uint64_t& word(Count layer) { return bits_[static_cast<std::size_t>(layer) / 64]; }
  std::array<std::uint64_t, max_layers / 64> bits_{};
};

enum class AttentionKind : std::uint8_t {
  grouped,  ///< MHA (kv_heads = heads), GQA, MQA (kv_heads = 1)
  latent    ///< multi-head latent attention of DeepSeek-V2 (arXiv:2405.04434)
};
template <>
inline constexpr auto choices<AttentionKind> =
    std::array{Choice{AttentionKind::grouped, "grouped"}, Choice{AttentionKind::latent, "latent"}};

enum class BlockKind : std::uint8_t {
  serial,   ///< attention, then MLP
  parallel  ///< both read the same residual stream and are added at once
};
template <>
inline constexpr auto choices<BlockKind> =
    std::array{Choice{BlockKind::serial, "serial"}, Choice{BlockKind::parallel, "parallel"}};

enum class NormPlacement : std::uint8_t {
  pre,     ///< y = x + f(norm x)
  post,    ///< y = norm(x + f(x)) (Vaswani et al. 2017)
  output,  ///< y = x + norm(f(x)) (OLMo 2)
  both     ///< y = x + norm(f(norm x)): sandwich, four per layer (Gemma 2)
};
template <>
inline constexpr auto choices<NormPlacement> =
    std::array{Choice{NormPlacement::pre, "pre"}, Choice{NormPlacement::post, "post"},
               Choice{NormPlacement::output, "output"}, Choice{NormPlacement::both, "both"}};

enum class NormKind : std::uint8_t {
  layer_norm,          ///< weight and bias: 2 x width
  layer_norm_no_bias,  ///< weight only: width
  rms_norm,            ///< weight only: width
  weight_free          ///< LayerNorm without parameters: 0
};
template <>
inline constexpr auto choices<NormKind> =
    std::array{Choice{NormKind::layer_norm, "layer_norm"}, Choice{NormKind::layer_norm_no_bias, "layer_norm_no_bias"},
               Choice{NormKind::rms_norm, "rms_norm"}, Choice{NormKind::weight_free, "weight_free"}};

enum class MlpKind : std::uint8_t {
  plain,  ///< down(act(up x)): 2 matrices
  gated   ///< down(act(gate x) * up x): 3 matrices (SwiGLU, GEGLU)
};
template <>
inline constexpr auto choices<MlpKind> = std::array{Choice{MlpKind::plain, "plain"}, Choice{MlpKind::gated, "gated"}};

enum class Activation : std::uint8_t {
  relu,
  relu_squared,
  gelu,
  gelu_tanh,
  silu,
  xielu  ///< two learned scalars per layer (Apertus)
};
template <>
inline constexpr auto choices<Activation> =
    std::array{Choice{Activation::relu, "relu"}, Choice{Activation::relu_squared, "relu_squared"},
               Choice{Activation::gelu, "gelu"}, Choice{Activation::gelu_tanh, "gelu_tanh"},
               Choice{Activation::silu, "silu"}, Choice{Activation::xielu, "xielu"}};

enum class Position : std::uint8_t { none, learned, sinusoidal, rope, alibi };
template <>
inline constexpr auto choices<Position> = std::array{
    Choice{Position::none, "none"}, Choice{Position::learned, "learned"}, Choice{Position::sinusoidal, "sinusoidal"},
    Choice{Position::rope, "rope"}, Choice{Position::alibi, "alibi"}};

/// Normalisation of queries and keys before the scores.
enum class QkNorm : std::uint8_t {
  none,
  weight_free,    ///< 0 parameters (Llama 4)
  per_head,       ///< RMSNorm of the head width, shared by the heads: 2 x head_dim (Qwen 3, Gemma 3)
  per_head_bias,  ///< LayerNorm of the head width with bias: 4 x head_dim (Persimmon, Phi)
  each_head,      ///< LayerNorm of each head without bias, weights of its own: (heads + kv_heads) x head_dim (Cohere,
                  ///< StableLM)
  full,           ///< RMSNorm of the whole projected width: (heads + kv_heads) x head_dim (OLMo 2)
  full_bias       ///< LayerNorm of the whole projected width with bias: twice as many
};
template <>
inline constexpr auto choices<QkNorm> =
    std::array{Choice{QkNorm::none, "none"},           Choice{QkNorm::weight_free, "weight_free"},
               Choice{QkNorm::per_head, "per_head"},   Choice{QkNorm::per_head_bias, "per_head_bias"},
               Choice{QkNorm::each_head, "each_head"}, Choice{QkNorm::full, "full"},
               Choice{QkNorm::full_bias, "full_bias"}};

/// Widths of multi-head latent attention. q_rank = 0: queries are projected directly.
struct Latent {
  Count q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, v_dim = 0;
  constexpr bool operator==(const Latent&) const = default;
};

/// Mixture of experts. `layers` says which layers have one; the others keep the dense MLP.
struct Moe {
  Count experts = 0, top_k = 0, width = 0;
  Count shared_experts = 0, shared_width = 0;  ///< always-on experts and the width of each
  bool shared_gate = false;                    ///< a hidden x 1 gate on the shared experts' output
  bool router_bias = false, expert_bias = false;
  bool router_correction = false;  ///< a stored load-balancing bias: one per expert, a buffer, not a parameter
  LayerSet layers;
  constexpr bool operator==(const Moe&) const = default;
};

/// The tokens that a token attends to, counted from 0: all up to itself, the last `tokens` (a sliding window,
/// arXiv:2004.05150), or those in its own chunk of `tokens` (hf llama4/modeling_llama4.py).
template <typename Int>
struct ReachOf {
  Int tokens = 0;  ///< 0: all
  bool chunked = false;
  constexpr bool operator==(const ReachOf&) const = default;
  constexpr bool limited() const { return tokens > 0; }
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

/// Layers with a sliding window or chunks.
struct LocalAttention {
  Reach reach{};
  LayerSet layers;
  constexpr bool operator==(const LocalAttention&) const = default;
};

struct Arch {
  Count layers = 0, hidden = 0, vocabulary = 0;
  Count context = 0;          ///< longest sequence that the model was trained for
  Count embedding_width = 0;  ///< width of the token table; two projections join it to another `hidden` (OPT-350M)

  BlockKind block = BlockKind::serial;

  AttentionKind attention = AttentionKind::grouped;
  Count heads = 0, kv_heads = 0, head_dim = 0;
  Latent latent;
  LocalAttention local;
  LayerSet linear_layers;  ///< layers with linear (lightning) attention in place of softmax attention (MiniMax)
  QkNorm qk_norm = QkNorm::none;
  bool qkv_bias = false, attention_out_bias = false;
  bool attention_sinks = false;  ///< one learned logit per head (gpt-oss)

  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;
  Count mlp_width = 0;  ///< 0 where every layer has experts
  bool mlp_bias = false;
  Moe moe;  ///< moe.experts = 0: dense

  NormKind norm = NormKind::layer_norm;
  NormPlacement norm_placement = NormPlacement::pre;
  Count norms_per_layer = 2;  ///< 2 pre or post, 4 both; a parallel block has 1 or 2
  bool final_norm = true, embedding_norm = false;

  Position position = Position::rope;
  Count position_rows = 0;  ///< rows of the learned position table: the context, or more (OPT: + 2)

  bool tied_head = false, head_bias = false;

  constexpr bool operator==(const Arch&) const = default;
  constexpr bool has_experts() const { return moe.experts > 0; }
  constexpr Count attention_width() const {
    return heads * (attention == AttentionKind::latent ? latent.v_dim : head_dim);
  }
};

}  // namespace llmcalc
