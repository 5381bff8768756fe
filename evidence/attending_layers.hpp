#pragma once
/// The layers of a model that cache keys and values: all of them, or those of a window or chunk.

#include "calc/layer_kinds.hpp"

namespace llmcalc {

struct AttendingLayers {
  Count whole = 0, limited = 0;
};

/// Layers with a recurrence alone, with linear attention, without a mixer or with another layer's keys cache none.
inline AttendingLayers attending_layers(const Arch& arch) {
  AttendingLayers n;
  for (const LayerKind& kind : layer_kinds(arch)) {
    const Mixer& m = arch.mixer(kind.mixer);
    if (kind.linear || m.attention == AttentionKind::none || m.shared_kv) continue;
    (kind.reach.limited() ? n.limited : n.whole) += kind.count;
  }
  return n;
}

}  // namespace llmcalc
