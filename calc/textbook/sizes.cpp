#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

namespace {

/// The number of the mixer, or of the MLP's width, that a layer has: 0 where no list names it.
template <typename List>
std::size_t listed(const List& list, Count layer) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].layers.contains(layer)) return i + 1;
  return 0;
}

}  // namespace

LayerCounts layer_counts(const Arch& a, std::size_t mixer) {
  LayerCounts n;
  const Mixer& m = a.mixer(mixer);
  for (Count i = 0; i < a.layers; ++i) {
    if (listed(a.mixers, i) != mixer) continue;
    ++n.all;
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
  return n;
}

}  // namespace llmcalc::textbook
