#include "calc/layer_kinds.hpp"

#include <algorithm>

#include "calc/block.hpp"
#include "calc/gradient_flow.hpp"

namespace llmcalc {
namespace {
/// Linear attention has neither window nor chunks.
LayerSet local_layers(const Arch& a) {
  return a.local.reach.limited() ? a.local.layers.filtered(a.linear_layers, false) : LayerSet();
}

/// Inserts a kind in the order of first layers.
void insert(LayerKinds& kinds, const LayerKind& kind) {
  std::size_t i = kinds.size++;
  for (; i > 0 && kinds.kinds[i - 1].first > kind.first; --i) kinds.kinds[i] = kinds.kinds[i - 1];
  kinds.kinds[i] = kind;
}
/// Layers that do the same.
LayerKinds alike(const Arch& a) {
  LayerKinds r;
  const LayerSet all = LayerSet::all(a.layers);
  const bool mixed = a.local.reach.limited() || a.has_experts() || !a.linear_layers.empty();
  if (a.layers == 0) return r;
  if (!mixed) {
    r.kinds[r.size++] = {.count = a.layers, .first = 0, .last = a.layers - 1, .layers = all};
    return r;
  }
  for (unsigned bits = 0; bits < 8; ++bits) {
    const bool local = bits & 1U, experts = bits & 2U, linear = bits & 4U;
    const LayerSet s =
        all.filtered(local_layers(a), local).filtered(a.moe.layers, experts).filtered(a.linear_layers, linear);
    if (s.empty()) continue;
    insert(r, {local ? a.local.reach : Reach(), experts, linear, s.size(), s.first(), s.last(), s});
  }
  return r;
}

bool trains_any(const OpList& ops) { return std::any_of(ops.begin(), ops.end(), trains); }

/// The part of a kind that lies in `s`.
LayerKind part(const LayerKind& kind, const LayerSet& s) {
  LayerKind k = kind;
  k.layers = s;
  k.count = s.size();
  k.first = s.first();
  k.last = s.last();
  return k;
}

/// Layers of a kind that multiply in the same format.
LayerKinds split_by_format(const LayerKinds& kinds, const LayerSet& wide_layers) {
  if (wide_layers.empty()) return kinds;
  LayerKinds all;
  for (const LayerKind& kind : kinds)
    for (const bool wide : {false, true}) {
      const LayerSet s = kind.layers.filtered(wide_layers, wide);
      if (s.empty()) continue;
      LayerKind k = part(kind, s);
      k.wide = wide;
      insert(all, k);
    }
  return all;
}
}  // namespace

LayerKinds layer_kinds(const Arch& a, const Frozen& f, const Narrowed& narrowed) {
  const LayerKinds by_format = split_by_format(alike(a), narrowed.wide(a.layers));
  if (f.empty()) return by_format;
  const Step step{.training = true, .frozen = f};
  LayerKinds by_weights, all;
  Count lowest = a.layers;  // that is trained
  for (const LayerKind& kind : by_format)
    for (const bool frozen : {false, true}) {
      const LayerSet s = kind.layers.filtered(f.layers, frozen);
      if (s.empty()) continue;
      LayerKind k = part(kind, s);
      k.frozen = frozen || !trains_any(block_ops(a, kind, step));
      if (!k.frozen) lowest = std::min(lowest, k.first);
      insert(by_weights, k);
    }
  const bool table = trains_any(embedding_ops(a, step));
  const LayerSet asking = LayerSet::every(table ? 0 : lowest + 1, 1, a.layers);
  for (const LayerKind& kind : by_weights)
    for (const bool asks : {false, true}) {
      const LayerSet s = kind.layers.filtered(asking, asks);
      if (s.empty()) continue;
      LayerKind k = part(kind, s);
      k.asks = asks;
      insert(all, k);
    }
  return all;
}

std::size_t kind_index(const LayerKinds& kinds, Count layer) {
  std::size_t i = 0;
  while (i + 1 < kinds.size && !kinds.kinds[i].layers.contains(layer)) ++i;
  return i;
}

}  // namespace llmcalc
