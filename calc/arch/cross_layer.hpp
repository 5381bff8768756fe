#pragma once
/// Tensors that one layer shares with later layers:
///   keys and values: read by layers that do not compute any (Mixer::shared_kv)
///   values of RWKV-7: read by layers that mix them into their own (Recurrent::value_rank)
///   the encoder's result: read by all decoder layers
///   the input of a layer that begins a block of mixed residual streams: read by all later layers and the head
///     (calc/block/mixed_residual.hpp)
/// The tensor is live from its source layer to its last reader. A pass with cached tokens reads the cache instead,
/// except for RWKV-7's values, which every pass computes. Training saves the tensor at its source. In backward, the
/// last reader allocates its gradient, every reader adds to it, and it stays live until backward reaches the source.

#include <algorithm>
#include <vector>

#include "calc/arch/layer_kinds.hpp"

namespace llmcalc {

/// A tensor that one layer shares with later layers, and the layers that read it.
struct CrossLayerTensor {
  std::size_t kind = 0;  ///< index of the source layer's kind
  Count source = 0, first_reader = 0, last_reader = 0;
  bool is_input = false;  ///< whether the tensor is the input of the source layer, which is saved in any case
  /// Whether the tensor is produced before layer i and read by layer i or a later layer.
  constexpr bool passes(Count i) const { return source < i && i <= last_reader; }
};

/// Last layer of the encoder; -1 if the model is not an encoder-decoder.
Count encoder_end(const LayerKinds& kinds);

/// All shared tensors, ordered by source layer.
std::vector<CrossLayerTensor> cross_layer_tensors(const LayerKinds& kinds);

/// Bytes of earlier layers' shared tensors that are live while a layer of this kind runs; the maximum over all layers
/// of the kind. each(k): bytes that a layer of kind k shares.
template <typename Each>
Bytes cross_layer_bytes(const std::vector<CrossLayerTensor>& all, const LayerKind& kind, const Each& each) {
  Bytes most;
  if (all.empty()) return most;
  for (Count i = kind.first; i <= kind.last; ++i) {
    if (!kind.layers.contains(i)) continue;
    Bytes now;
    for (const CrossLayerTensor& h : all)
      if (h.passes(i)) now += each(h.kind);
    most = std::max(most, now);
  }
  return most;
}

/// The layer whose keys and values `layer` reads; -1 if `layer` computes its own, or if no earlier layer of the same
/// reach computes keys and values.
Count kv_source(const LayerKinds& kinds, Count layer);

}  // namespace llmcalc
