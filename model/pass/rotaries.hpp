#pragma once
/// RoPE frequencies of a pass.

#include <optional>
#include <vector>

#include "calc/arch/layer_kinds.hpp"
#include "model/math/rotary.hpp"

namespace llmcalc::model {

/// RoPE frequencies of each mixer in a pass; null for the default.
class Rotaries {
 public:
  Rotaries(const Arch& arch, const Numerics& numerics, Count length) {
    if (arch.position != Position::rope) return;
    for (std::size_t i = 0; i <= arch.mixers.size(); ++i) {
      const Mixer& m = arch.mixer(i);
      const Count width = m.attention == AttentionKind::grouped ? m.head_dim : m.latent.rope_dim;
      whole_.push_back(stretched(numerics.rope, width, length));
      local_.push_back(stretched(numerics.local_rope, width, length));
      index_.push_back(stretched(numerics.rope, index_rotated(m), length));
    }
  }
  const Rotary* of(const LayerKind& kind) const {
    const std::vector<std::optional<Rotary>>& all = kind.reach.limited() ? local_ : whole_;
    return in(all, kind);
  }
  /// RoPE frequencies of an indexer's queries and key.
  const Rotary* of_index(const LayerKind& kind) const { return in(index_, kind); }
  /// Number of rotated elements in each head of an indexer, and in its key.
  static Count index_rotated(const Mixer& m) {
    return m.indexer.kind == IndexerKind::lightning ? m.latent.rope_dim : m.indexer.width;
  }

 private:
  static const Rotary* in(const std::vector<std::optional<Rotary>>& all, const LayerKind& kind) {
    return kind.mixer < all.size() && all[kind.mixer] ? &*all[kind.mixer] : nullptr;
  }
  static std::optional<Rotary> stretched(const Rope& rope, Count width, Count length) {
    return rope != Rope() ? std::optional(rotary(rope, width, length)) : std::nullopt;
  }

  std::vector<std::optional<Rotary>> whole_, local_, index_;
};

}  // namespace llmcalc::model
