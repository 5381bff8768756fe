#pragma once
/// Keys and values that a layer hands on to later ones, which have none of their own (Mixer::shared_kv). They are alive
/// from the layer that makes them to the last one that reads them; a pass behind cached tokens reads the cache instead.
/// In training they are kept where they are made, and their gradient, which the last reader begins and every reader
/// adds to, is alive until backward comes back there.

#include <algorithm>
#include <vector>

#include "calc/layer_kinds.hpp"

namespace llmcalc {

/// The keys and values of one layer, and the layers that read them.
struct HandedOn {
  std::size_t kind = 0;  ///< of the layer that makes them
  Count source = 0, first_reader = 0, last_reader = 0;
  /// Whether they are made before layer i, and it or one behind it reads them.
  constexpr bool passes(Count i) const { return source < i && i <= last_reader; }
};

/// All keys and values that layers hand on, in the order of their sources.
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
