#include "calc/arch/cross_layer.hpp"

#include <algorithm>

namespace llmcalc {

Count kv_source(const LayerKinds& kinds, Count layer) {
  const LayerKind& reader = kinds[kind_index(kinds, layer)];
  Count source = -1;
  if (!reader.reads_kv) return source;
  for (const LayerKind& kind : kinds)
    if (kind.shares_kv && kind.reach == reader.reach) source = std::max(source, kind.layers.last_below(layer));
  return source;
}

Count encoder_end(const LayerKinds& kinds) {
  for (const LayerKind& kind : kinds)
    if (kind.closes_encoder) return kind.last;
  return -1;
}

namespace {
/// Adds the inputs of the layers that begin a block of mixed residual streams; all later layers read these inputs.
void add_saved(std::vector<CrossLayerTensor>& all, const LayerKinds& kinds, Count layers) {
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const LayerKind& kind = kinds[k];
    for (Count i = kind.first; kind.opens_block && i <= kind.last; ++i)
      if (kind.layers.contains(i)) all.push_back({k, i, i, layers - 1, true});
  }
}
}  // namespace

std::vector<CrossLayerTensor> cross_layer_tensors(const LayerKinds& kinds) {
  std::vector<CrossLayerTensor> all;
  Count layers = 0;
  for (const LayerKind& kind : kinds) layers = std::max(layers, kind.last + 1);
  if (const Count end = encoder_end(kinds); end >= 0) all.push_back({kind_index(kinds, end), end, end + 1, layers - 1});
  add_saved(all, kinds, layers);
  if (std::none_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.shares_kv; })) return all;
  for (Count i = 0; i < layers; ++i) {
    const std::size_t kind = kind_index(kinds, i);
    if (kinds[kind].shares_kv) all.push_back({kind, i, 0, 0});
    const Count source = kv_source(kinds, i);
    for (CrossLayerTensor& h : all)
      if (h.source == source) {
        if (h.last_reader == 0) h.first_reader = i;
        h.last_reader = i;
      }
  }
  return all;
}

}  // namespace llmcalc
