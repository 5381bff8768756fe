#include "tests/models/kimi.hpp"

#include "tests/models/hybrids.hpp"

namespace llmcalc::test {
namespace {

/// Kimi Delta Attention in the second layer.
void with_delta(Arch& a) {
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.recurrent = kimi_delta(4);
  m.layers = LayerSet::every(1, 1, 2);
  a.mixers.push(m);
}

}  // namespace

std::vector<Variant> mixed_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, const Arch& a, Count layers, Count block, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    v.arch.layers = layers;
    v.arch.residual_block = block;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("mixed residual streams in blocks of two layers", tiny_llama(), 3, 2, [](Arch&, Plan&) {});
  add("a residual stream for every layer, dropout", tiny_gpt(), 3, 1, [](Arch&, Plan& p) { p.dropout = true; });
  add("mixed residual streams, all again, dropout", tiny_llama(), 3, 2, [](Arch&, Plan& p) {
    p.recompute = Recompute::full;
    p.dropout = true;
  });
  add("mixed residual streams of layers that are a mixer or an MLP", tiny_llama(), 4, 2, [](Arch& a, Plan&) {
    LayerMixer nothing;
    nothing.attention = AttentionKind::none;
    nothing.layers = LayerSet::every(0, 2, 3);
    a.mixers.push(nothing);
    a.mlps.push({.width = 0, .layers = LayerSet::every(1, 2, 4)});
  });
  add("Kimi Delta Attention under mixed residual streams", tiny_llama(), 2, 2, [](Arch& a, Plan&) { with_delta(a); });
  return all;
}

}  // namespace llmcalc::test
