#pragma once
/// Tensors of one layer that later layers read: keys and values, by layers that have none of their own
/// (Mixer::shared_kv); RWKV-7's values, by layers that mix them with their own (Recurrent::value_rank); an encoder's
/// result, by all layers of the decoder behind it; the input of a layer that begins a block of mixed residual streams,
/// by all behind it and by the head (calc/block/mixed_residual.hpp). It is alive from the layer that makes it to the
/// last one that reads it; a pass behind cached tokens reads the cache instead, but for RWKV-7's values, which every
/// pass makes. In training it is kept where it is made, and its gradient, which the last reader begins and every reader
/// adds to, is alive until backward comes back there.

#include <algorithm>
#include <vector>

#include "calc/arch/layer_kinds.hpp"

namespace llmcalc {

/// The tensors that one layer hands on, and the layers that read them.
struct HandedOn {
  std::size_t kind = 0;  ///< of the layer that makes it
  Count source = 0, first_reader = 0, last_reader = 0;
  bool is_input = false;  ///< the layer's, which it keeps anyway
  /// Whether it is made before layer i, and that or one behind it reads it.
  constexpr bool passes(Count i) const { return source < i && i <= last_reader; }
};

/// The layer that ends an encoder before a decoder; -1: there is none.
Count encoder_end(const LayerKinds& kinds);

/// All that layers hand on, in the order of their sources.
std::vector<HandedOn> handed_on(const LayerKinds& kinds);

/// The most bytes that layers before it hand over while a layer of this kind runs; each(k): those that a layer of kind
/// k hands on.
template <typename Each>
Bytes handed_over(const std::vector<HandedOn>& all, const LayerKind& kind, const Each& each) {
  Bytes most;
  if (all.empty()) return most;
  for (Count i = kind.first; i <= kind.last; ++i) {
    if (!kind.layers.contains(i)) continue;
    Bytes now;
    for (const HandedOn& h : all)
      if (h.passes(i)) now += each(h.kind);
    most = std::max(most, now);
  }
  return most;
}

/// The layer whose keys and values a layer reads; -1: it has its own, or no layer before it can give any.
Count kv_source(const LayerKinds& kinds, Count layer);

}  // namespace llmcalc
