#pragma once
/// Architecture of a language model: sizes and enumerated choices, independent of how the model is run.
///
/// An Arch has no implicit defaults: presets/import fills in the values that a Hugging Face config leaves to its
/// family. The Arch's own fields describe every layer that no list overrides: `mixers` lists the layers with a
/// different token mixer, `mlps` those with a different MLP.

#include <array>
#include <cstdint>

#include "calc/arch/mixer.hpp"
#include "calc/choice.hpp"
#include "calc/inplace_vector.hpp"

namespace llmcalc {

enum class BlockKind : std::uint8_t {
  serial,    ///< attention, then MLP
  parallel,  ///< attention and MLP read the same residual stream, and their results are added
  shortcut   ///< attention, dense MLP, attention, dense MLP; the experts read the input of the first MLP, and their
             ///< result is added at the end of the layer (LongCat-Flash, arXiv:2509.01322)
};
template <>
inline constexpr auto choices<BlockKind> =
    std::array{Choice{BlockKind::serial, "serial"}, Choice{BlockKind::parallel, "parallel"},
               Choice{BlockKind::shortcut, "shortcut"}};

enum class NormPlacement : std::uint8_t {
  pre,     ///< y = x + f(norm x)
  post,    ///< y = norm(x + f(x)) (Vaswani et al. 2017)
  output,  ///< y = x + norm(f(x)) (OLMo 2)
  both     ///< y = x + norm(f(norm x)): sandwich, four norms per layer (Gemma 2)
};
template <>
inline constexpr auto choices<NormPlacement> =
    std::array{Choice{NormPlacement::pre, "pre"}, Choice{NormPlacement::post, "post"},
               Choice{NormPlacement::output, "output"}, Choice{NormPlacement::both, "both"}};

enum class NormKind : std::uint8_t {
  layer_norm,          ///< weight and bias: 2 x width
  layer_norm_no_bias,  ///< only a weight: width
  rms_norm,            ///< only a weight: width
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
  masked_token,  ///< MLM head: a dense layer, the activation and a norm, then logits of every position (BERT)
  none           ///< no logits: an encoder or decoder whose hidden states are the result (text embeddings)
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
  relative  ///< a learned bias per head and distance bucket, added to the scores; one table per stack (T5) or per layer
};
template <>
inline constexpr auto choices<Position> = std::array{
    Choice{Position::none, "none"}, Choice{Position::learned, "learned"}, Choice{Position::sinusoidal, "sinusoidal"},
    Choice{Position::rope, "rope"}, Choice{Position::alibi, "alibi"},     Choice{Position::relative, "relative"}};

/// Mixture of experts. `layers` are the layers with experts; all other layers keep the dense MLP.
struct Moe {
  Count experts = 0, top_k = 0, width = 0;
  Count zero_experts = 0;    ///< number of additional experts that return their input, without weights or FLOPs
  Count latent_width = 0;    ///< width of the routed experts' input and output, between a down- and an up-projection
                             ///< (LatentMoE); 0: hidden
  bool latent_norm = false;  ///< whether an RMSNorm follows the down-projection to latent_width
  Count shared_experts = 0, shared_width = 0;  ///< number of always-on experts, and the width of each
  bool shared_gate = false;                    ///< whether a hidden x 1 gate scales the shared experts' output
  bool router_bias = false, expert_bias = false;
  bool router_correction = false;  ///< whether the router stores a load-balancing bias per expert: a buffer, not a
                                   ///< parameter
  bool router_scales = false;      ///< whether the router has an RMSNorm and a learned factor per expert (Gemma 4)
  bool with_dense_mlp = false;     ///< whether layers have a dense MLP parallel to the experts, plus 3 norms (Gemma 4)
  LayerSet layers;
  constexpr bool operator==(const Moe&) const = default;
  /// Number of router outputs per token.
  constexpr Count choices() const { return add(experts, zero_experts); }
  /// Expected number of experts, excluding zero experts, to which a token is routed if all choices are equally
  /// likely; rounded up.
  constexpr Count visited() const {
    return zero_experts == 0 ? top_k : ceil_div(mul(top_k, experts), add(experts, zero_experts));
  }
};

/// Layers with sliding-window or chunked attention.
struct LocalAttention {
  Reach reach{};
  LayerSet layers;
  constexpr bool operator==(const LocalAttention&) const = default;
};

/// A mixer other than the Arch's, the layers that use it, and the reach of their attention.
struct LayerMixer : Mixer {
  Reach reach{};
  LayerSet layers;
  constexpr bool operator==(const LayerMixer&) const = default;
};

/// Layers whose dense MLP differs in width from the Arch's; width 0: no MLP.
struct LayerMlp {
  Count width = 0;
  LayerSet layers;
  constexpr bool operator==(const LayerMlp&) const = default;
};
/// Maximum number of LayerMlp entries in a model (Nemotron Ultra has MLPs of 12 widths).
inline constexpr std::size_t most_mlps = 15;

/// The head: logits, and the outputs that an encoder computes from the first token of a sequence.
struct ModelHead {
  HeadKind kind = HeadKind::next_token;
  bool transform_bias = true;  ///< whether the MLM head's dense layer has a bias
  bool pooler = false;         ///< whether there is a pooler: a dense layer with bias and tanh, hidden x hidden (BERT)
  bool sentence_pair = false;  ///< whether two logits, computed from the pooler's output, predict whether the second
                               ///< sentence follows the first
  bool exit_gate = false;      ///< whether a logit with bias, computed from the final norm's result, decides whether to
                               ///< exit after a loop over the layers (Ouro): hidden + 1 parameters; counted only for
                               ///< the last loop
  constexpr bool operator==(const ModelHead&) const = default;
  constexpr bool has_logits() const { return kind != HeadKind::none; }
};

/// A separate input for every layer, looked up by token and projected from the embedding (Gemma 3n, Gemma 4).
/// Weights: a table of rows x (layers width) and a projection hidden x (layers width) with a norm of `width`; in
/// every layer, a gate hidden x width, a projection width x hidden and a norm.
struct PerLayerInput {
  Count rows = 0, width = 0;
  constexpr bool operator==(const PerLayerInput&) const = default;
};

/// Multi-token prediction (MTP): modules that predict tokens beyond the next one (DeepSeek-V3, arXiv:2412.19437, 2.2).
/// For token i, module k normalizes the result of module k - 1 (module 1: the result of the model's last layer) and
/// the embedding of token i + k, each with its own norm, and predicts token i + k + 1:
///   result = layer(W [norm(previous result) ; norm(embedding)]),  logits = head(norm(result))
/// Parameters per module: W (2 hidden x hidden), the layer, 2 norms, and any separate final norm, table and head.
struct Mtp {
  Count modules = 0;               ///< number of MTP modules in the model
  Count mixer_of = 0, mlp_of = 0;  ///< indices of the model layers whose mixer, and whose MLP or experts, the
                                   ///< module's layer replicates
  bool own_norm = false;  ///< whether a module has its own norm before the head instead of the model's final norm
  bool own_embedding = false, own_head = false;  ///< whether a module has its own token embedding, or its own head;
                                                 ///< otherwise it uses the model's
  constexpr bool operator==(const Mtp&) const = default;
};

/// Cross-layer parameter sharing: each of `layers` reuses the weights of the layer `period` before it (ALBERT,
/// arXiv:1909.11942; MobileLLM, arXiv:2402.14905, 3.3; looped models, arXiv:2510.25741). Weights, gradients and
/// optimizer states count once; computation, saved tensors and cache count in every layer.
struct Repeats {
  Count period = 1;
  LayerSet layers;
  bool normed = false;  ///< whether the final norm also follows the last layer of every period except the last (Ouro)
  constexpr bool operator==(const Repeats&) const = default;
};

struct Arch : Mixer {
  Count layers = 0, hidden = 0, vocabulary = 0;
  Count context = 0;          ///< length of the longest sequences that the model was trained on
  Count embedding_width = 0;  ///< width of the token embedding; if it differs from `hidden`, two projections convert
                              ///< between them (OPT-350M)

  bool narrow_ends = false;  ///< whether positions, token types and embedding norm have the token embedding's width and
                             ///< are followed by a biased projection; the MLM head projects back (ALBERT)

  BlockKind block = BlockKind::serial;

  LocalAttention local;
  LayerSet linear_layers;  ///< layers with linear (lightning) attention instead of softmax attention (MiniMax)
  InplaceVector<LayerMixer, 4> mixers;

  MlpKind mlp = MlpKind::plain;
  Activation activation = Activation::gelu;
  Count mlp_width = 0;  ///< width of the dense MLPs outside `mlps`; 0 if there are none
  InplaceVector<LayerMlp, most_mlps> mlps;
  bool mlp_bias = false;
  bool mlp_out_bias = false;  ///< with mlp_bias false: whether dense MLPs have a bias on `down` only (GTE)
  bool sub_norms = false;     ///< whether RMSNorms precede attention's `out` (heads x value width) and a dense MLP's
                              ///< `down` (the MLP's width) (BitNet, arXiv:2504.12285)
  bool mlp_shift = false;  ///< whether dense MLPs have a token shift: they mix their input with the previous token's,
                           ///< by `hidden` weights (RWKV)
  bool mlp_receptance = false;  ///< with mlp_shift: whether the result is multiplied by the sigmoid of a hidden x
                                ///< hidden projection of a second token-shifted input (RWKV-5, RWKV-6)
  Moe moe;                      ///< mixture of experts; moe.experts = 0: a dense model

  Repeats repeats;
  Count streams = 1;      ///< number of residual streams, mixed around each sub-layer (hyper-connections; DeepSeek-V4)
  bool altup = false;     ///< whether layers use alternating updates: a layer reads the first of the predicted residual
                          ///< streams, and its result corrects all of them (arXiv:2301.13310; Gemma 3n)
  Count laurel_rank = 0;  ///< rank of a low-rank branch with a norm, parallel to attention (LAuReL,
                          ///< arXiv:2411.07501); 0: absent

  NormKind norm = NormKind::layer_norm;
  NormPlacement norm_placement = NormPlacement::pre;
  Count norms_per_layer = 2;  ///< number of norms: 2 for pre and post, 4 for both; 1 or 2 in a parallel block, 4 in a
                              ///< shortcut block
  bool final_norm = true, embedding_norm = false;
  bool first_norm = true;  ///< whether the first mixer has a norm; false: it reads the embedding norm's output
                           ///< (ModernBERT)

  Count token_types = 0;  ///< number of rows of the segment table, whose entries are added to the embedding (BERT)

  Position position = Position::rope;
  Count position_rows = 0;  ///< number of rows of the learned position table, at least the context (OPT: + 2); relative
                            ///< positions: number of distance buckets
  Count added_rows = 0;     ///< relative positions: number of rows of a learned table added to the embedding (MPNet)
  bool layer_distances = false;  ///< relative positions: whether each layer, rather than each stack, has a table (uMT5)

  Count residual_block = 0;   ///< number of layers per block of attention residuals: sub-layers and the head read a
                              ///< weighted sum of the residual stream and the streams saved at block starts. A learned
                              ///< query and a norm, 2 hidden parameters per sum, determine the weights (Kimi K3,
                              ///< arXiv:2607.24653, 2.2). 0: no sums
  PerLayerInput per_layer;    ///< separate input of every layer; width 0: absent
  bool output_scale = false;  ///< whether every layer's result is multiplied by a learned scalar

  ModelHead head;
  bool tied_head = false, head_bias = false;

  Mtp mtp;  ///< MTP modules; excluded from all counts of the model

  constexpr bool operator==(const Arch&) const = default;
  /// Width of the embedding (the sum of token, position and type embeddings) and of its norm.
  constexpr Count summed_width() const { return narrow_ends ? embedding_width : hidden; }
  /// Whether the head projects from the model's width to the narrower width of the token embedding.
  constexpr bool narrows_head() const { return embedding_width != hidden && !narrow_ends; }
  /// Number of rows of the learned position table that is added to the embedding.
  constexpr Count learned_rows() const { return position == Position::learned ? position_rows : added_rows; }
  /// Whether residual streams are mixed before and after every sub-layer (hyper-connections).
  constexpr bool hyper_connected() const { return streams > 1 && !altup; }
  constexpr bool has_experts() const { return moe.experts > 0; }
  constexpr bool has_repeats() const { return !repeats.layers.empty(); }
  /// The layer that owns the weights of `layer`.
  constexpr Count weights_of(Count layer) const {
    while (layer >= 0 && layer < layers && repeats.layers.contains(layer)) layer -= repeats.period;
    return layer;
  }
  /// Whether every token sees later tokens, so the model cannot generate token by token.
  constexpr bool is_encoder() const { return bidirectional && !has_cross_attention(); }
  /// Whether the first layers are an encoder whose result the remaining layers read.
  constexpr bool is_encoder_decoder() const { return bidirectional && has_cross_attention(); }
  /// Mixer i; 0 is the Arch's own, i > 0 is mixers[i - 1].
  constexpr const Mixer& mixer(std::size_t i) const {
    return i == 0 ? *this : static_cast<const Mixer&>(mixers[i - 1]);
  }
  /// Whether some layers reuse the keys selected by an earlier layer's indexer.
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
