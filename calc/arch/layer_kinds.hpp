#pragma once
/// The kinds of layer of a model: layers of one kind do the same, are trained alike and multiply in the same formats.

#include "calc/arch.hpp"
#include "calc/formats/narrowed.hpp"
#include "calc/in_place.hpp"
#include "calc/training/frozen.hpp"

namespace llmcalc {

/// Layers that are alike.
struct LayerKind {
  Reach reach{};
  bool experts = false, linear = false;
  bool closes_encoder = false;  ///< the encoder's last: its norm follows
  bool hands_on_kv = false;     ///< later layers read its keys and values; of a recurrence its values
  bool opens_block = false;     ///< the residual stream starts again here, and its input is saved (mixed_residual.hpp)
  bool bare = false;            ///< no norm before its mixer: the first layer of a model without (Arch::first_norm)
  bool reads_kv = false;        ///< it reads those of the last layer before it that hands on its own and has its reach
  std::uint8_t mixer = 0;       ///< number of its mixer (Arch::mixer)
  Count mlp_width = 0;          ///< of its dense MLP, beside experts too; 0: it has none
  Count count = 0;
  Count first = 0, last = 0;  ///< indices of the first and the last layer of this kind
  LayerSet layers;            ///< all layers of this kind
  bool frozen = false;        ///< none of its weights is trained
  bool asks = true;           ///< whether its input asks for a gradient: something before it is trained
  bool wide = false;          ///< its products stay in the working format
  bool repeats = false;       ///< its weights are those of an earlier layer (Arch::repeats)
  bool ends_run = false;      ///< the model's final norm follows it (Repeats::normed)
  bool half = false;          ///< the half of a shortcut block, without experts: the layer of a module (Mtp)
  constexpr bool has_mlp() const { return experts || mlp_width > 0; }
  /// Whether later layers read something of it besides its result (calc/arch/handed_on.hpp).
  constexpr bool hands_on() const { return hands_on_kv || closes_encoder || opens_block; }
};

/// The most kinds of layer that differ in what they do (check_arch refuses more); Nemotron Ultra has 15.
inline constexpr std::size_t most_unlike = 24;
/// The most kinds of layer: those, each in up to two parts by the format of its products and three by what is trained,
/// and the lowest trained layer.
inline constexpr std::size_t most_kinds = 6 * most_unlike + 2;

/// The kinds of layer that a model has, in order of first appearance.
using LayerKinds = InPlace<LayerKind, most_kinds>;

/// Number of kinds that differ in what their layers do.
std::size_t unlike_kinds(const Arch& arch);

/// `frozen`: layers that are trained alike, too; `narrowed`: whose products are in the same format.
LayerKinds layer_kinds(const Arch& arch, const Frozen& frozen = {}, const Narrowed& narrowed = {});

/// The layer of a module that predicts a further token (Mtp). In a model of shortcut blocks it is half a block:
/// attention and the dense MLP (LongCat-Flash). Its products are in the plan's format.
LayerKind mtp_layer(const Arch& arch);

/// The index of a layer's kind in `kinds`.
std::size_t kind_index(const LayerKinds& kinds, Count layer);

}  // namespace llmcalc
