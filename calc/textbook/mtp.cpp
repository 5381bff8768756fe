#include "calc/textbook/mtp.hpp"

namespace llmcalc::textbook {
namespace {

/// 1-based index of the mixer list that contains the layer; 0 if no list does.
std::size_t mixer_of(const Arch& a, Count layer) {
  for (std::size_t i = 0; i < a.mixers.size(); ++i)
    if (a.mixers[i].layers.contains(layer)) return i + 1;
  return 0;
}

/// The width of the layer's dense MLP.
Count mlp_width(const Arch& a, Count layer) {
  for (const LayerMlp& m : a.mlps)
    if (m.layers.contains(layer)) return m.width;
  return a.mlp_width;
}

}  // namespace

Arch module_model(const Arch& a) {
  const Count layer = a.mtp.mixer_of, mlp = a.mtp.mlp_of;
  const std::size_t mixer = mixer_of(a, layer);
  Arch m = a;
  static_cast<Mixer&>(m) = a.mixer(mixer);
  m.layers = 1;
  m.mixers = {};
  m.mlps = {};
  m.mtp = {};
  const Reach reach = mixer > 0 ? a.mixers[mixer - 1].reach : a.local.layers.contains(layer) ? a.local.reach : Reach();
  m.local = reach.limited() ? LocalAttention{reach, LayerSet::all(1)} : LocalAttention();
  m.linear_layers = a.linear_layers.contains(layer) ? LayerSet::all(1) : LayerSet();
  const bool half = a.block == BlockKind::shortcut;
  if (half) m.block = BlockKind::serial;
  if (half) m.norms_per_layer = 2;
  const bool experts = a.has_experts() && a.moe.layers.contains(mlp) && !half;
  if (!experts) m.moe = {};
  if (experts) m.moe.layers = LayerSet::all(1);
  m.mlp_width = experts ? 0 : mlp_width(a, mlp);
  m.final_norm = a.mtp.own_norm;
  m.embedding_norm = false;
  m.tied_head = !a.mtp.own_head;
  m.head_bias = a.mtp.own_head && a.head_bias;
  return m;
}

Count module_parameters(const Arch& a) {
  const Arch m = module_model(a);
  return module_parameters(m, exact_sizes(m), a.mtp.own_embedding).count();
}

Flops module_forward_flops(const Arch& a, const PassShape& pass) {
  const Count rows = mul(pass.batch, pass.seq, a.streams + 1);
  return forward_flops(module_model(a), pass).total() + flops(2, rows, a.hidden, a.hidden);
}

}  // namespace llmcalc::textbook
