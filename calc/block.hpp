#pragma once
/// The operators of a model: the one description from which parameters, FLOPs, bytes and traffic are derived.

#include <array>

#include "calc/arch.hpp"
#include "calc/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// The tokens of one pass: `sequences` of `queries` new tokens after `past` cached ones.
struct Step {
  Count sequences = 1, queries = 1, past = 0;
  bool training = false;  ///< loss over every position and dropout may be on; else the head sees the last position only
  bool absorbed = false;  ///< latent attention: queries meet the latent cache directly
  bool expanded_cache = false;  ///< latent attention: the cache holds every head's keys and values
  bool dropout = false;
  bool fused_glu = false;  ///< act(gate) * up in one kernel
  Count lora_rank = 0;     ///< of adapters beside the matrices; all else is frozen then
  LoraTargets lora_targets{};
  Frozen frozen{};  ///< what else is not trained
  constexpr Count tokens() const { return mul(sequences, queries); }
};

/// Layers that are alike.
struct LayerKind {
  Reach reach{};
  bool experts = false, linear = false;
  Count count = 0;
  Count first = 0, last = 0;  ///< indices of the first and the last layer of this kind
  LayerSet layers;            ///< all layers of this kind
  bool frozen = false;        ///< none of its weights is trained
  bool asks = true;           ///< whether its input asks for a gradient: something before it is trained
};

/// The most kinds of layer: six that differ in what they do, each in up to three parts by what is trained, and the
/// lowest trained layer.
inline constexpr std::size_t most_kinds = 20;

/// The kinds of layer that a model has, in order of first appearance.
struct LayerKinds {
  std::array<LayerKind, most_kinds> kinds{};
  std::size_t size = 0;
  const LayerKind* begin() const { return kinds.data(); }
  const LayerKind* end() const { return kinds.data() + size; }
};

/// `frozen`: layers that are trained alike, too.
LayerKinds layer_kinds(const Arch& arch, const Frozen& frozen = {});

/// The index of a layer's kind in `kinds`.
std::size_t kind_index(const LayerKinds& kinds, Count layer);

/// Token table (and learned positions, embedding norm, dropout) up to the first block's input.
OpList embedding_ops(const Arch& arch, const Step& step);

/// One block of the given kind.
OpList block_ops(const Arch& arch, const LayerKind& kind, const Step& step);

/// Final norm, head and, in training, the loss.
OpList head_ops(const Arch& arch, const Step& step);

}  // namespace llmcalc
