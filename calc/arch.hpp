#pragma once
/// The architecture of a decoder: sizes and closed choices, nothing about how or where it runs.
///
/// An Arch is explicit: presets/import fills in whatever a Hugging Face config leaves to its family's defaults. Its own
/// fields describe every layer that no list names: `mixers` are what mixes the tokens of other layers, `mlps` the MLPs
/// of others.

#include <array>
#include <cstdint>

#include "calc/arch/mixer.hpp"
#include "calc/choice.hpp"
#include "calc/in_place.hpp"

namespace llmcalc {

enum class BlockKind : std::uint8_t {
  serial,    ///< attention, then MLP
  parallel,  ///< both read the same residual stream and are added at once
  shortcut  ///< attention, dense MLP, attention, dense MLP; the experts read the first MLP's input, and their result is
            ///< added at the end (LongCat-Flash, arXiv:2509.01322)
};
template <>
inline constexpr auto choices<BlockKind> =
    std::array{Choice{BlockKind::serial, "serial"}, Choice{BlockKind::parallel, "parallel"},
               Choice{BlockKind::shortcut, "shortcut"}};

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

enum class HeadKind : std::uint8_t {
  next_token,    ///< logits of every position: vocabulary x hidden
  masked_token,  ///< the same behind a dense layer, the activation and a norm (BERT)
  none           ///< no logits: an encoder or a decoder whose result is used as it is (embeddings of texts)
};
template <>
inline constexpr auto choices<HeadKind> =
    std::array{Choice{HeadKind::next_token, "next_token"}, Choice{HeadKind::masked_token, "masked_token"},
               Choice{HeadKind::none, "none"}};

enum class Position : std::uint8_t {
  none,
  learned,
  sinusoidal,
  rope,
  alibi,
  relative  ///< a learned number per head and range of distances, added to the scores; a table per stack (T5) or layer
};
template <>
inline constexpr auto choices<Position> = std::array{
    Choice{Position::none, "none"}, Choice{Position::learned, "learned"}, Choice{Position::sinusoidal, "sinusoidal"},
    Choice{Position::rope, "rope"}, Choice{Position::alibi, "alibi"},     Choice{Position::relative, "relative"}};

/// Mixture of experts. `layers` says which layers have one; the others keep the dense MLP.
struct Moe {
  Count experts = 0, top_k = 0, width = 0;
  Count zero_experts = 0;  ///< that the router chooses among besides: they return their input, without weights or FLOPs
  Count latent_width = 0;  ///< routed experts work in this width, between two projections; 0: in hidden (LatentMoE)
  bool latent_norm = false;                    ///< an RMSNorm behind the first of them
  Count shared_experts = 0, shared_width = 0;  ///< always-on experts and the width of each
  bool shared_gate = false;                    ///< a hidden x 1 gate on the shared experts' output
  bool router_bias = false, expert_bias = false;
  bool router_correction = false;  ///< a stored load-balancing bias: one per expert, a buffer, not a parameter
  bool router_scales = false;      ///< an RMSNorm before the router, and a learned factor per expert (Gemma 4)
  bool beside_dense = false;       ///< a dense MLP of the Arch's width beside them, three more norms (Gemma 4)
  LayerSet layers;
  constexpr bool operator==(const Moe&) const = default;
  /// Numbers that the router makes for a token.
  constexpr Count choices() const { return add(experts, zero_experts); }
  /// Experts with weights that a token visits in the mean, where each choice is as likely as any other; rounded up.
  constexpr Count visited() const {
    return zero_experts == 0 ? top_k : ceil_div(mul(top_k, experts), add(experts, zero_experts));
  }
};

/// Layers with a sliding window or chunks.
struct LocalAttention {
  Reach reach{};
  LayerSet layers;
  constexpr bool operator==(const LocalAttention&) const = default;
};

/// Layers with another mixer than the Arch's own, and the tokens that their attention reaches.
struct LayerMixer : Mixer {
  Reach reach{};
  LayerSet layers;
  constexpr bool operator==(const LayerMixer&) const = default;
};

/// Layers whose dense MLP has another width than the Arch's own; 0: they have none.
struct LayerMlp {
  Count width = 0;
  LayerSet layers;
  constexpr bool operator==(const LayerMlp&) const = default;
};
/// The most lists of such layers (Nemotron Ultra has MLPs of 12 widths).
inline constexpr std::size_t most_mlps = 15;

/// The head: logits, and what an encoder makes of the first token of a sequence.
struct ModelHead {
  HeadKind kind = HeadKind::next_token;
  bool transform_bias = true;  ///< of a masked token's dense layer
  bool pooler = false;         ///< a dense layer with bias and tanh: hidden x hidden (BERT)
  bool sentence_pair = false;  ///< two logits of the pooler's result: whether the second sentence follows the first
  bool exit_gate = false;      ///< a logit with bias of the final norm's result: whether to stop after this run of the
                               ///< layers (Ouro): hidden + 1. That of the last run alone is computed.
  constexpr bool operator==(const ModelHead&) const = default;
  constexpr bool has_logits() const { return kind != HeadKind::none; }
};

/// An input of its own for every layer, looked up by token and projected from the embedding (Gemma 3n, Gemma 4): a
/// table of rows x (layers width), a projection hidden x (layers width) with a norm of `width`; in every layer a gate
/// hidden x width, a projection width x hidden and a norm.
struct PerLayerInput {
  Count rows = 0, width = 0;
  constexpr bool operator==(const PerLayerInput&) const = default;
};

/// Modules that predict tokens further ahead than the next one (MTP; DeepSeek-V3, arXiv:2412.19437, 2.2). Module k
/// reads of token i the result of module k - 1 (of the first: of the last layer) and the embedding of token i + k, each
/// under a norm of its own, and predicts token i + k + 1:
///   result = layer(W [norm(result before) ; norm(embedding)]),  logits = head(norm(result))
/// Parameters of each: W (2 hidden x hidden), the layer, 2 norms and what is its own of norm, table and head.
struct Mtp {
  Count modules = 0;               ///< that the model has; 0: none
  Count mixer_of = 0, mlp_of = 0;  ///< the layers of the model whose mixer, and whose MLP or experts, its layer has
  bool own_norm = false;           ///< a norm before the head; else the model's final one
  bool own_embedding = false, own_head = false;  ///< a token table and a head; else the model's
  constexpr bool operator==(const Mtp&) const = default;
};

/// Cross-layer parameter sharing: layers without weights of their own, each with those of the layer `period` before it
/// (ALBERT, arXiv:1909.11942; MobileLLM, arXiv:2402.14905, 3.3; looped models, arXiv:2510.25741). Weights, gradients
/// and optimizer states count once; what a layer computes, keeps and caches counts in each of them.
struct Repeats {
  Count period = 1;
  LayerSet layers;
  bool normed = false;  ///< the model's final norm also follows the last layer of each period but the last (Ouro)
  constexpr bool operator==(const Repeats&) const = default;
};

struct Arch : Mixer {
  Count layers = 0, hidden = 0, vocabulary = 0;
  Count context = 0;          ///< longest sequence that the model was trained for
  Count embedding_width = 0;  ///< width of the token table; two projections join it to another `hidden` (OPT-350M)

  bool narrow_ends = false;  ///< positions, token types and the embedding's norm are as wide as that table, one
                             ///< projection with bias follows, and a masked token's dense layer leads back (ALBERT)

  BlockKind block = BlockKind::serial;

  LocalAttention local;
  LayerSet linear_layers;  ///< layers with linear (lightning) attention in place of softmax attention (MiniMax)
  InPlace<LayerMixer, 4> mixers;

  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;
  Count mlp_width = 0;  ///< 0 where no layer has a dense MLP of that width
  InPlace<LayerMlp, most_mlps> mlps;
  bool mlp_bias = false;
  bool mlp_out_bias = false;  ///< of dense MLPs: a bias of `down` alone, where mlp_bias is false (GTE)
  bool sub_norms = false;     ///< RMSNorms of what attention's `out` and a dense MLP's `down` read: heads x value width
                              ///< and the MLP's width (BitNet, arXiv:2504.12285)
  bool mlp_shift = false;     ///< dense MLPs read a mix of their input and of the token before's, by `hidden` learned
                              ///< shares (RWKV)
  bool mlp_receptance = false;  ///< beside mlp_shift: a hidden x hidden matrix of another mix, by whose sigmoid the
                                ///< result is multiplied (RWKV-5, RWKV-6)
  Moe moe;                      ///< moe.experts = 0: dense

  Repeats repeats;
  Count streams =
      1;  ///< residual streams, mixed before and after each half of a layer (hyper-connections; DeepSeek-V4)
  bool altup = false;  ///< the streams are predicted before a layer, which reads the first, and corrected by its result
                       ///< (alternating updates, arXiv:2301.13310; Gemma 3n)
  Count laurel_rank =
      0;  ///< beside attention a low rank of its input, under a norm (LAuReL, arXiv:2411.07501); 0: none

  NormKind norm = NormKind::layer_norm;
  NormPlacement norm_placement = NormPlacement::pre;
  Count norms_per_layer = 2;  ///< 2 pre or post, 4 both; a parallel block has 1 or 2, a shortcut block 4
  bool final_norm = true, embedding_norm = false;
  bool first_norm =
      true;  ///< false: none before the mixer of the first layer, which reads the embedding's (ModernBERT)

  Count token_types = 0;  ///< rows of a table of segments, added to the embedding (BERT)

  Position position = Position::rope;
  Count position_rows = 0;       ///< rows of the learned position table: the context, or more (OPT: + 2); of relative
                                 ///< positions: ranges of distances
  Count added_rows = 0;          ///< beside relative positions: rows of a learned table added to the embedding (MPNet)
  bool layer_distances = false;  ///< of relative positions: a table in every layer, none of the stack's (uMT5)

  Count residual_block = 0;   ///< every sub-layer, and the head, reads a mix of the residual stream and of those that
                              ///< began the blocks of so many layers before, by a learned vector under a norm: 2 hidden
                              ///< each (attention residuals of Kimi K3, arXiv:2607.24653, 2.2); 0: the stream itself
  PerLayerInput per_layer;    ///< width 0: none
  bool output_scale = false;  ///< a learned number multiplies the result of every layer

  ModelHead head;
  bool tied_head = false, head_bias = false;

  Mtp mtp;  ///< beside the model, in none of its counts

  constexpr bool operator==(const Arch&) const = default;
  /// The width of the embedding's sum and norm.
  constexpr Count summed_width() const { return narrow_ends ? embedding_width : hidden; }
  /// Whether the head has a projection from the model's width to that of a narrower table.
  constexpr bool narrows_head() const { return embedding_width != hidden && !narrow_ends; }
  /// Rows of learned positions that are added to the embedding.
  constexpr Count learned_rows() const { return position == Position::learned ? position_rows : added_rows; }
  /// Whether residual streams are mixed around every half of a layer.
  constexpr bool hyper_connected() const { return streams > 1 && !altup; }
  constexpr bool has_experts() const { return moe.experts > 0; }
  constexpr bool has_repeats() const { return !repeats.layers.empty(); }
  /// The layer whose weights a layer has.
  constexpr Count weights_of(Count layer) const {
    while (layer >= 0 && layer < layers && repeats.layers.contains(layer)) layer -= repeats.period;
    return layer;
  }
  /// Whether every token sees later ones, so that nothing is generated token by token.
  constexpr bool is_encoder() const { return bidirectional && !has_cross_attention(); }
  /// Whether the first layers are an encoder, whose result the other ones read.
  constexpr bool is_encoder_decoder() const { return bidirectional && has_cross_attention(); }
  /// The mixer of number i: 0 is the Arch's own.
  constexpr const Mixer& mixer(std::size_t i) const {
    return i == 0 ? *this : static_cast<const Mixer&>(mixers[i - 1]);
  }
  /// Whether layers take what an earlier layer's indexer chose.
  constexpr bool shares_choices() const {
    for (std::size_t i = 0; i <= mixers.size(); ++i)
      if (mixer(i).indexer.shared) return true;
    return false;
  }

 private:
  constexpr bool has_cross_attention() const {
    for (std::size_t i = 0; i < mixers.size(); ++i)
      if (mixers[i].cross_attention) return true;
    return false;
  }
};

}  // namespace llmcalc
