#include "calc/arch/layer_kinds.hpp"

#include <algorithm>

#include "calc/block/block.hpp"
#include "calc/training/gradient_flow.hpp"

namespace llmcalc {
namespace {
/// Layers with local attention; linear attention has neither window nor chunks.
LayerSet local_layers(const Arch& a) {
  return a.local.reach.limited() ? a.local.layers.filtered(a.linear_layers, false) : LayerSet();
}

/// Inserts a kind and keeps the list ordered by first layer.
void insert(LayerKinds& kinds, const LayerKind& kind) {
  kinds.push(kind);
  LayerKind* const last = kinds.end() - 1;
  const auto later = [&](const LayerKind& k) { return k.first > kind.first; };
  std::rotate(std::find_if(kinds.begin(), last, later), last, kinds.end());
}

/// Layers of the list's entry i - 1; for i = 0, the layers in no entry.
template <typename List>
LayerSet layers_of(const List& list, std::size_t i, const LayerSet& all) {
  if (i > 0) return list[i - 1].layers;
  LayerSet own = all;
  for (std::size_t other = 0; other < list.size(); ++other) own = own.filtered(list[other].layers, false);
  return own;
}

/// The last encoder layer, as a set; empty if the model is not an encoder-decoder.
LayerSet encoder_end(const Arch& a) {
  LayerSet last;
  if (a.is_encoder_decoder()) last.insert(layers_of(a.mixers, 0, LayerSet::all(a.layers)).last());
  return last;
}

/// Index of a layer's mixer (Arch::mixer).
std::size_t mixer_of(const Arch& a, Count layer) {
  std::size_t i = a.mixers.size();
  while (i > 0 && !a.mixers[i - 1].layers.contains(layer)) --i;
  return i;
}
bool reads_kv(const Arch& a, Count layer) {
  return a.mixer(mixer_of(a, layer)).reads_kv() && !a.linear_layers.contains(layer);
}
bool any_reads_kv(const Arch& a) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i)
    if (a.mixer(i).reads_kv()) return true;
  return false;
}
bool has_own_kv(const Arch& a, Count layer) {
  return a.mixer(mixer_of(a, layer)).gives_kv() && !a.linear_layers.contains(layer);
}
Reach reach_of(const Arch& a, Count layer) {
  if (const std::size_t i = mixer_of(a, layer); i > 0) return a.mixers[i - 1].reach;
  return local_layers(a).contains(layer) ? a.local.reach : Reach();
}

/// Layers whose keys and values other layers read: for each reader, the last earlier layer of the same reach that
/// computes its own keys and values.
LayerSet kv_sources(const Arch& a) {
  LayerSet sources;
  if (!any_reads_kv(a)) return sources;
  for (Count reader = 0; reader < a.layers; ++reader) {
    if (!reads_kv(a, reader)) continue;
    Count source = reader - 1;
    while (source >= 0 && !(has_own_kv(a, source) && reach_of(a, source) == reach_of(a, reader))) --source;
    if (source >= 0) sources.insert(source);
  }
  return sources;
}

/// Calls visit(kind, layers) for each MLP variant among layers that are otherwise alike.
template <typename Visit>
void for_each_mlp(const Arch& a, LayerKind kind, const LayerSet& alike, const Visit& visit) {
  if (alike.empty()) return;
  kind.experts = true;
  kind.mlp_width = a.moe.with_dense_mlp ? a.mlp_width : 0;
  visit(kind, alike.filtered(a.moe.layers, true));
  kind.experts = false;
  const LayerSet dense = alike.filtered(a.moe.layers, false);
  for (std::size_t mlp = 0; mlp <= a.mlps.size(); ++mlp) {
    kind.mlp_width = mlp == 0 ? a.mlp_width : a.mlps[mlp - 1].width;
    visit(kind, dense.filtered(layers_of(a.mlps, mlp, LayerSet::all(a.layers)), true));
  }
}

/// Calls visit(kind, layers) for four groups of layers: those with their own weights and those that reuse earlier
/// weights, each with and without the final norm after them.
template <typename Visit>
void for_each_repeat(const Arch& a, LayerKind kind, const LayerSet& alike, const Visit& visit) {
  if (!a.has_repeats()) return for_each_mlp(a, kind, alike, visit);
  const Count period = a.repeats.period;
  const LayerSet ends = a.repeats.normed ? LayerSet::every(period - 1, period, a.layers - 1) : LayerSet();
  for (const unsigned bits : {0U, 1U, 2U, 3U}) {
    kind.repeats = bits & 1U;
    kind.ends_run = bits & 2U;
    for_each_mlp(a, kind, alike.filtered(a.repeats.layers, kind.repeats).filtered(ends, kind.ends_run), visit);
  }
}

/// Calls visit(kind, layers) for every functional variant of a layer, including variants without layers.
template <typename Visit>
void for_each_unlike(const Arch& a, const Visit& visit) {
  const LayerSet all = LayerSet::all(a.layers), sources = kv_sources(a), locals = local_layers(a);
  const LayerSet ends = encoder_end(a);
  const LayerSet openers = a.residual_block > 0 ? LayerSet::every(0, a.residual_block, a.layers) : LayerSet();
  const LayerSet bare = a.first_norm ? LayerSet() : LayerSet::all(1);
  for (std::size_t mixer = 0; mixer <= a.mixers.size(); ++mixer) {
    const LayerSet mixed = layers_of(a.mixers, mixer, all);
    for (unsigned bits = 0; bits < (mixer == 0 ? 4U : 1U); ++bits) {
      const bool local = bits & 1U, linear = bits & 2U;
      LayerKind kind;
      kind.linear = linear;
      kind.mixer = static_cast<std::uint8_t>(mixer);
      kind.reads_kv = a.mixer(mixer).reads_kv() && !linear;
      kind.reach = mixer > 0 ? a.mixers[mixer - 1].reach : local ? a.local.reach : Reach();
      const LayerSet alike = mixer > 0 ? mixed : mixed.filtered(locals, local).filtered(a.linear_layers, linear);
      if (alike.empty()) continue;
      const LayerSet last = ends.filtered(alike, true);
      for (unsigned marks = 0; marks < (a.residual_block > 0 ? 8U : 4U); ++marks) {
        kind.closes_encoder = marks & 1U;
        kind.shares_kv = marks & 2U;
        kind.opens_block = marks & 4U;
        const LayerSet marked = alike.filtered(last, kind.closes_encoder).filtered(sources, kind.shares_kv);
        if (marked.empty()) continue;
        for (const bool is_bare : {false, true}) {
          kind.bare = is_bare;
          for_each_repeat(a, kind, marked.filtered(openers, kind.opens_block).filtered(bare, is_bare), visit);
        }
      }
    }
  }
}

/// Kinds of functionally identical layers.
LayerKinds alike(const Arch& a) {
  LayerKinds r;
  for_each_unlike(a, [&](LayerKind kind, const LayerSet& s) {
    if (s.empty() || r.size() == most_kinds) return;  // check_arch rejects a model with more kinds
    kind.count = s.size();
    kind.first = s.first();
    kind.last = s.last();
    kind.layers = s;
    insert(r, kind);
  });
  return r;
}

bool trains_any(const OpList& ops) { return std::any_of(ops.begin(), ops.end(), trains); }

/// The kind restricted to the layers in `s`.
LayerKind part(const LayerKind& kind, const LayerSet& s) {
  LayerKind k = kind;
  k.layers = s;
  k.count = s.size();
  k.first = s.first();
  k.last = s.last();
  return k;
}

/// Splits kinds by the number format of their matmuls.
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

std::size_t unlike_kinds(const Arch& a) {
  std::size_t n = 0;
  for_each_unlike(a, [&](const LayerKind&, const LayerSet& s) { n += s.empty() ? 0 : 1; });
  return n;
}

LayerKinds layer_kinds(const Arch& a, const Frozen& f, const LowPrecision& low_precision) {
  const LayerKinds by_format = split_by_format(alike(a), low_precision.wide(a.layers));
  if (f.empty()) return by_format;
  const Step step{.training = true, .frozen = f};
  LayerKinds by_weights, all;
  Count lowest = a.layers;  // lowest trained layer
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

LayerKind mtp_layer(const Arch& a) {
  const LayerKinds kinds = alike(a);
  const auto like = [&](Count layer) { return kinds[kind_index(kinds, layer)]; };
  LayerKind k = like(a.mtp.mixer_of);
  const LayerKind mlp = like(a.mtp.mlp_of);
  k.experts = mlp.experts;
  k.mlp_width = mlp.mlp_width;
  k.half = a.block == BlockKind::shortcut;
  if (k.half) {
    k.experts = false;
    k.mlp_width = a.mlp_width;
  }
  k.shares_kv = false;
  k.layers = {};
  k.count = 1;
  return k;
}

std::size_t kind_index(const LayerKinds& kinds, Count layer) {
  std::size_t i = 0;
  while (i + 1 < kinds.size() && !kinds[i].layers.contains(layer)) ++i;
  return i;
}

}  // namespace llmcalc
