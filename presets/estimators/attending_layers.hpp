#pragma once
/// The layers of a model that cache keys and values: all of them, or those of a window or chunk.

#include "calc/arch/layer_kinds.hpp"

namespace llmcalc {

struct AttendingLayers {
  Count whole = 0, limited = 0;
};

/// Whether its layers cache keys: not with a recurrence alone, with linear attention, without a mixer or with another
/// layer's keys.
inline bool caches_keys(const Arch& arch, const LayerKind& kind) {
  const Mixer& m = arch.mixer(kind.mixer);
  return !kind.linear && m.attention != AttentionKind::none && !m.shared_kv;
}

inline AttendingLayers attending_layers(const Arch& arch) {
  AttendingLayers n;
  for (const LayerKind& kind : layer_kinds(arch)) {
    if (!caches_keys(arch, kind)) continue;
    (kind.reach.limited() ? n.limited : n.whole) += kind.count;
  }
  return n;
}

}  // namespace llmcalc
