#pragma once
/// Chunks of a model: consecutive layers that a pipeline rank runs in sequence. MTP modules are part of the head.

#include <algorithm>
#include <span>

#include "calc/price.hpp"

namespace llmcalc {

/// The maximum number of chunks per rank.
inline constexpr std::size_t most_chunks = 128;

/// Layers [first, end), and whether the embedding precedes them and the head follows them.
struct ModelChunk {
  Count first = 0, end = 0;
  bool embedding = true, head = true;
  constexpr Count layers() const { return end - first; }
};

/// The model as one chunk.
inline ModelChunk whole_model(const LayerKinds& kinds) {
  Count layers = 0;
  for (const LayerKind& k : kinds) layers += k.count;
  return {0, layers};
}

/// first_layers(): the first n layers of a chunk, which RecomputeMethod::block recomputes. behind_first(): the layers
/// after them.
inline ModelChunk first_layers(const ModelChunk& c, Count n) {
  return {c.first, std::min(c.end, c.first + n), false, false};
}
inline ModelChunk behind_first(const ModelChunk& c, Count n) {
  return {std::min(c.end, c.first + n), c.end, false, false};
}

/// Number of layers of a kind in a chunk.
inline Count layers_in(const LayerKind& kind, const ModelChunk& c) {
  if (kind.count == kind.last - kind.first + 1) {  // consecutive layers
    const Count n = std::min(c.end, kind.last + 1) - std::max(c.first, kind.first);
    return n > 0 ? n : 0;
  }
  return kind.layers.below(c.end) - kind.layers.below(c.first);
}

/// Whether two chunks have layers of the same kinds in the same order, and the same ends of the model (embedding,
/// head).
inline bool same_rows(const LayerKinds& kinds, const ModelChunk& a, const ModelChunk& b) {
  if (a.embedding != b.embedding || a.head != b.head || a.layers() != b.layers()) return false;
  if (kinds.size() == 1) return true;
  for (Count i = 0; i < a.layers(); ++i)
    if (kind_index(kinds, a.first + i) != kind_index(kinds, b.first + i)) return false;
  return true;
}

/// Number of layers of a price row in a chunk: 0 or 1 for the embedding and the head; for MTP modules, all of them if
/// the chunk has the head.
inline Count layers_of_row(const Prices& p, std::size_t row, const ModelChunk& c) {
  if (row == 0) return c.embedding ? 1 : 0;
  if (row <= p.kinds.size()) return layers_in(p.kinds[row - 1], c);
  return c.head ? p.rows[row].layers : 0;
}

/// Calls f(row, n) for the embedding, for each layer kind with n layers in the chunk, for the head, and for each part
/// of n MTP modules.
template <typename F>
void for_each_row(const Prices& p, const ModelChunk& c, const F& f) {
  if (c.embedding) f(p.embedding(), Count{1});
  for (std::size_t k = 0; k < p.kinds.size(); ++k)
    if (const Count n = layers_in(p.kinds[k], c); n > 0) f(p.layer(k), n);
  if (!c.head) return;
  f(p.head(), Count{1});
  for (const LayerPrice& row : p.mtp()) f(row, row.layers);
}

/// Calls f(kind, n) for every run of n consecutive layers of one kind, from first to last.
template <typename F>
void for_each_run(const LayerKinds& kinds, const ModelChunk& c, const F& f) {
  for (Count i = c.first; i < c.end;) {
    const std::size_t kind = kind_index(kinds, i);
    Count n = 1;
    while (i + n < c.end && kinds[kind].layers.contains(i + n)) ++n;
    f(kind, n);
    i += n;
  }
}

}  // namespace llmcalc
