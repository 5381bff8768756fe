#pragma once
/// Kinds of layer in a model: layers of one kind have the same operators, trained weights and matmul formats.

#include "calc/arch.hpp"
#include "calc/formats/low_precision.hpp"
#include "calc/inplace_vector.hpp"
#include "calc/training/frozen.hpp"

namespace llmcalc {

/// A set of identical layers.
struct LayerKind {
  Reach reach{};
  bool experts = false, linear = false;
  bool closes_encoder = false;  ///< whether it is the last layer of the encoder, which the encoder's norm follows
  bool shares_kv = false;       ///< whether later layers read its keys and values (its values, if it is a recurrence)
  bool opens_block = false;     ///< whether it begins a block: it then saves the residual stream and restarts it
                                ///< (mixed_residual.hpp)
  bool bare = false;            ///< whether its mixer has no norm: the first layer of a model without Arch::first_norm
  bool reads_kv = false;   ///< whether it reads the keys and values of the last earlier layer of the same reach that
                           ///< shares them
  std::uint8_t mixer = 0;  ///< index of its mixer (Arch::mixer)
  Count mlp_width = 0;     ///< width of its dense MLP, with or without parallel experts; 0: no dense MLP
  Count count = 0;
  Count first = 0, last = 0;  ///< indices of the first and last layer of this kind
  LayerSet layers;            ///< all layers of this kind
  bool frozen = false;        ///< whether it has no trained weights
  bool asks = true;           ///< whether its input requires a gradient, because a trained weight precedes it
  bool wide = false;          ///< whether its matmuls stay in the working format
  bool repeats = false;       ///< whether it shares the weights of an earlier layer (Arch::repeats)
  bool ends_run = false;      ///< whether the model's final norm follows it (Repeats::normed)
  bool half = false;          ///< whether it is half of a shortcut block, without experts, as in an MTP module
  constexpr bool has_mlp() const { return experts || mlp_width > 0; }
  /// Whether later layers read tensors of this layer other than its result (calc/arch/cross_layer.hpp).
  constexpr bool shares_onward() const { return shares_kv || closes_encoder || opens_block; }
};

/// Maximum number of functionally different kinds (check_arch rejects more); Nemotron Ultra has 15.
inline constexpr std::size_t most_unlike = 24;
/// Maximum number of kinds. Each functionally different kind splits into at most two by matmul format and three by
/// trained weights; splitting at the lowest trained layer adds further kinds.
inline constexpr std::size_t most_kinds = 6 * most_unlike + 2;

/// The kinds of layer in a model, in order of first appearance.
using LayerKinds = InplaceVector<LayerKind, most_kinds>;

/// Number of functionally different kinds.
std::size_t unlike_kinds(const Arch& arch);

/// Layer kinds of a model, split by trained weights (`frozen`) and by matmul format (`low_precision`).
LayerKinds layer_kinds(const Arch& arch, const Frozen& frozen = {}, const LowPrecision& low_precision = {});

/// The layer of an MTP module. In a model of shortcut blocks it is half a block: attention and the dense MLP
/// (LongCat-Flash). Its matmuls use the plan's format.
LayerKind mtp_layer(const Arch& arch);

/// Index in `kinds` of a layer's kind.
std::size_t kind_index(const LayerKinds& kinds, Count layer);

}  // namespace llmcalc
