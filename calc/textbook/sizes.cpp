#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

namespace {

/// 1-based index of the mixer list or MLP width list that contains the layer; 0 if no list does.
template <typename List>
std::size_t listed(const List& list, Count layer) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].layers.contains(layer)) return i + 1;
  return 0;
}

/// Reach of a softmax attention layer.
Reach reach_of(const Arch& a, Count layer) {
  if (const std::size_t i = listed(a.mixers, layer); i > 0) return a.mixers[i - 1].reach;
  return a.local.layers.contains(layer) ? a.local.reach : Reach();
}

/// Whether a layer computes its own keys and values (in RWKV-7, its own values) instead of reading an earlier
/// layer's.
bool has_own(const Mixer& m, bool values) {
  if (values) return m.recurrent.kind == RecurrentKind::rwkv7 && m.recurrent.value_rank == 0;
  return m.attention == AttentionKind::grouped && !m.shared_kv;
}

/// The layer whose keys and values (for a recurrence, only values) this layer reads: the last earlier layer of the
/// same reach that computes its own; -1 if there is no such layer.
Count read_by(const Arch& a, Count layer) {
  const auto mixer = [&](Count i) -> const Mixer& { return a.mixer(listed(a.mixers, i)); };
  const auto is_linear = [&](Count i) { return a.linear_layers.contains(i); };
  const bool values = mixer(layer).recurrent.value_rank > 0;
  if ((!mixer(layer).shared_kv && !values) || is_linear(layer)) return -1;
  for (Count i = layer - 1; i >= 0; --i)
    if (has_own(mixer(i), values) && !is_linear(i) && reach_of(a, i) == reach_of(a, layer)) return i;
  return -1;
}

/// Number of layers with this mixer whose keys and values later layers read.
Count layers_read(const Arch& a, std::size_t mixer) {
  LayerSet read;
  for (Count i = 0; i < a.layers; ++i)
    if (const Count source = read_by(a, i); source >= 0 && listed(a.mixers, source) == mixer) read.insert(source);
  return read.size();
}

}  // namespace

LayerCounts layer_counts(const Arch& a, std::size_t mixer, bool own) {
  LayerCounts n;
  const Mixer& m = a.mixer(mixer);
  for (Count i = 0; i < a.layers; ++i) {
    if (listed(a.mixers, i) != mixer || (own && a.repeats.layers.contains(i))) continue;
    ++n.all;
    if (a.repeats.normed && (i + 1) % a.repeats.period == 0 && i + 1 < a.layers) ++n.ends;
    const bool linear = mixer == 0 && a.linear_layers.contains(i);
    const bool local = mixer == 0 ? a.local.layers.contains(i) : a.mixers[mixer - 1].reach.limited();
    if (linear)
      ++n.linear;
    else if (m.attention != AttentionKind::none)
      ++(local ? n.local : n.full);
    if (m.recurrent.kind != RecurrentKind::none) ++n.recurrent;
    const std::size_t mlp = listed(a.mlps, i);
    if (a.has_experts() && a.moe.layers.contains(i))
      ++n.experts;
    else
      ++(mlp > 0 ? n.other[mlp - 1] : n.dense);
  }
  n.read = layers_read(a, mixer);
  return n;
}

}  // namespace llmcalc::textbook
