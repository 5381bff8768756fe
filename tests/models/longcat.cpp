#include "tests/models/longcat.hpp"

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
    a.layers = 1;
    a.block = BlockKind::shortcut;
    a.norms_per_layer = 4;
    a.moe.layers = LayerSet::all(a.layers);
    p.recompute = Recompute::selective;
  });
  return all;
}

std::vector<Variant> returning_variants() {
  std::vector<Variant> all;
  add(all, "experts that return their input, in shortcut blocks", tiny_shortcut(), [](Arch& a, Plan&) {
    a.moe.top_k = 3;
    a.moe.zero_experts = 3;
  });
  add(all, "experts that return their input, beside a shared one", tiny_deepseek(), [](Arch& a, Plan& p) {
    a.moe.top_k = 4;
    a.moe.zero_experts = 2;
    p.dropout = true;
  });
  add(all, "no chosen expert returns its input", tiny_deepseek(), [](Arch& a, Plan& p) {
    a.moe.zero_experts = 1;
    p.recompute = Recompute::full;
  });
  add(all, "experts of a latent width and some that return their input", tiny_llama(), [](Arch& a, Plan&) {
    a.moe = {
        .experts = 3, .top_k = 2, .width = 6, .zero_experts = 5, .latent_width = 7, .layers = LayerSet::all(a.layers)};
  });
  return all;
}

}  // namespace llmcalc::test
