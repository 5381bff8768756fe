#pragma once
/// Number of layers that cache keys and values, split into layers that attend to all tokens and layers with a window or
/// chunk.

#include <optional>

#include "calc/arch/layer_kinds.hpp"
#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

struct AttendingLayers {
  Count whole = 0, limited = 0;
};

/// Whether layers of this kind cache keys. Excludes layers that have only a recurrence, linear attention or no mixer,
/// or that read another layer's keys.
inline bool caches_keys(const Arch& arch, const LayerKind& kind) {
  const Mixer& m = arch.mixer(kind.mixer);
  return !kind.linear && m.attention != AttentionKind::none && !m.shared_kv;
}

/// Number of layers of a kind, in a stage or in the whole model.
inline Count layers_held(const LayerKind& kind, const std::optional<ModelChunk>& stage) {
  return stage ? layers_in(kind, *stage) : kind.count;
}

inline AttendingLayers attending_layers(const Arch& arch, const std::optional<ModelChunk>& stage = {}) {
  AttendingLayers n;
  for (const LayerKind& kind : layer_kinds(arch)) {
    if (!caches_keys(arch, kind)) continue;
    (kind.reach.limited() ? n.limited : n.whole) += layers_held(kind, stage);
  }
  return n;
}

}  // namespace llmcalc
