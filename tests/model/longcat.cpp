#include "tests/model/longcat.hpp"

namespace llmcalc::test {
namespace {

void add(std::vector<Variant>& all, const char* name, const Arch& a, void (*change)(Arch&, Plan&)) {
  Variant v{name, a, tiny_plan()};
  change(v.arch, v.plan);
  all.push_back(std::move(v));
}

Arch tiny_shortcut() {
  Arch a = tiny_llama();
  a.block = BlockKind::shortcut;
  a.norms_per_layer = 4;
  a.moe = {.experts = 4, .top_k = 2, .width = 6, .layers = LayerSet::all(a.layers)};
  return a;
}

}  // namespace

std::vector<Variant> shortcut_variants() {
  std::vector<Variant> all;
  add(all, "shortcut blocks", tiny_shortcut(), [](Arch&, Plan&) {});
  add(all, "shortcut blocks, naive, dropout", tiny_shortcut(),
      [](Arch&, Plan& p) { p.dropout = true, p.attention = AttentionImpl::naive; });
  add(all, "shortcut blocks, full", tiny_shortcut(), [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  add(all, "shortcut blocks, latent, selective", tiny_deepseek(), [](Arch& a, Plan& p) {
    a.block = BlockKind::shortcut;
    a.norms_per_layer = 4;
    a.moe.layers = LayerSet::all(a.layers);
    p.recompute = Recompute::selective;
  });
  return all;
}

}  // namespace llmcalc::test
