#include "tests/models/further.hpp"

namespace llmcalc::test {

Variant with_modules(const char* name, const Arch& arch, Count n) {
  Variant v{name, arch, tiny_plan()};
  v.arch.mtp = {.modules = n, .mixer_of = arch.layers - 1, .mlp_of = arch.layers - 1};
  v.plan.mtp = n;
  return v;
}

namespace {

void add(std::vector<Variant>& all, const char* name, const Arch& a, Count n, void (*change)(Arch&, Plan&)) {
  all.push_back(with_modules(name, a, n));
  change(all.back().arch, all.back().plan);
}

Arch tiny_hybrid() {
  Arch a = tiny_llama();
  LayerMixer m;
  static_cast<Mixer&>(m) = a;
  m.attention = AttentionKind::none;
  m.recurrent = {
      .kind = RecurrentKind::gated_delta_net, .heads = 2, .head_dim = 3, .key_heads = 1, .key_dim = 4, .taps = 3};
  m.layers = LayerSet::every(1, 1, 2);
  a.mixers.push(m);
  return a;
}

}  // namespace

std::vector<Variant> further_variants() {
  std::vector<Variant> all;
  add(all, "a module", tiny_llama(), 1, [](Arch&, Plan&) {});
  add(all, "a module under the table for a head, naive, dropout", tiny_gpt(), 1,
      [](Arch&, Plan& p) { p.dropout = true, p.attention = AttentionImpl::naive; });
  add(all, "modules with norm, table and head of their own", tiny_gpt(), 2, [](Arch& a, Plan&) {
    a.tied_head = false;
    a.head_bias = a.mtp.own_norm = a.mtp.own_embedding = a.mtp.own_head = true;
  });
  add(all, "modules that share a head with a bias, no final norm, selective", tiny_gpt(), 2, [](Arch& a, Plan& p) {
    a.norm_placement = NormPlacement::post;
    a.tied_head = a.final_norm = false;
    a.head_bias = true;
    p.recompute = Recompute::selective;
  });
  add(all, "a module of latent attention and experts, full", tiny_deepseek(), 1, [](Arch& a, Plan& p) {
    a.mtp.own_norm = true;
    p.recompute = Recompute::full;
  });
  add(all, "modules of shortcut blocks", tiny_llama(), 2, [](Arch& a, Plan&) {
    a.block = BlockKind::shortcut;
    a.norms_per_layer = 4;
    a.moe = {.experts = 4, .top_k = 2, .width = 6, .layers = LayerSet::all(a.layers)};
  });
  add(all, "a module of several residual streams", tiny_llama(), 1, [](Arch& a, Plan&) {
    a.streams = 3;
    a.mtp.own_norm = true;
  });
  add(all, "modules of several residual streams, all again", tiny_llama(), 2, [](Arch& a, Plan& p) {
    a.streams = 2;
    p.recompute = Recompute::full;
  });
  add(all, "modules of recurrences", tiny_hybrid(), 2, [](Arch&, Plan&) {});
  add(all, "modules of attention behind a recurrence, one of two in use", tiny_hybrid(), 2, [](Arch& a, Plan& p) {
    a.mtp.mixer_of = 0;
    p.mtp = 1;
  });
  return all;
}

}  // namespace llmcalc::test
