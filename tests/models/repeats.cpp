#include "tests/models/repeats.hpp"

namespace llmcalc::test {
namespace {

/// Two layers that run twice, with the final norm after each run and an exit gate after the last.
Arch tiny_ouro() {
  Arch a = tiny_llama();
  a.layers = 4;
  a.norm_placement = NormPlacement::both;
  a.norms_per_layer = 4;
  a.repeats = {2, LayerSet::every(2, 1, 4), true};
  a.head.exit_gate = true;
  return a;
}

}  // namespace

std::vector<Variant> repeating_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_ouro(), tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("layers that run twice", [](Arch&, Plan&) {});
  add("layers that run twice, naive, dropout",
      [](Arch&, Plan& p) { p.attention = AttentionImpl::naive, p.dropout = true; });
  add("layers that run twice, all again, dropout",
      [](Arch&, Plan& p) { p.recompute = Recompute::full, p.dropout = true; });
  add("layers that run twice, cores again", [](Arch&, Plan& p) { p.recompute = Recompute::selective; });
  add("every layer twice, one after the other", [](Arch& a, Plan&) {
    a = tiny_llama();
    a.layers = 4;
    a.repeats.layers = LayerSet::every(1, 2, 4);
  });
  add("experts and a recurrence that run twice", [](Arch& a, Plan&) {
    a.head.exit_gate = false;
    a.repeats = {2, LayerSet::every(2, 1, 4), true};
    a.moe = {.experts = 3, .top_k = 2, .width = 7, .layers = LayerSet::every(1, 2, 4)};
    LayerMixer short_convolution;
    short_convolution.attention = AttentionKind::none;
    short_convolution.recurrent = {.kind = RecurrentKind::short_convolution, .heads = 12, .head_dim = 1, .taps = 3};
    short_convolution.layers = LayerSet::every(0, 2, 4);
    a.mixers.push(short_convolution);
  });
  return all;
}

}  // namespace llmcalc::test
