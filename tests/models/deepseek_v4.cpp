#include "tests/models/deepseek_v4.hpp"

namespace llmcalc::test {

std::vector<Variant> residual_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, const Arch& a, Count streams, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    v.arch.streams = streams;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("three residual streams", tiny_llama(), 3, [](Arch&, Plan&) {});
  add("two residual streams, again", tiny_llama(), 2, [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  add("two residual streams, dropout, no last norm", tiny_gpt(), 2,
      [](Arch& a, Plan& p) { a.final_norm = false, p.dropout = true; });
  return all;
}

namespace {

/// Layers `first` to 2 of three: window only; window and pooled keys; window and overlapping pooled keys.
Arch tiny_compressed(Count first) {
  Arch a = tiny_llama();
  a.layers = 3 - first;
  for (Count i = first; i < 3; ++i) {
    LayerMixer m;
    static_cast<Mixer&>(m) = a;
    m.attention = AttentionKind::compressed;
    m.kv_heads = 1;
    m.head_dim = 6;
    m.latent = {.q_rank = 7, .rope_dim = 4};
    m.compressed = {.ratio = i == 0 ? 0 : 4 - i, .overlap = i == 2, .out_groups = 2, .out_rank = 5};
    m.attention_sinks = i == 1;
    m.reach = {.tokens = 3};
    m.layers = LayerSet::every(i - first, 1, i - first + 1);
    a.mixers.push(m);
  }
  return a;
}

}  // namespace

Arch tiny_pooled_choice() {
  Arch a = tiny_compressed(2);
  a.mixers[a.mixers.size() - 1].indexer = {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 1};
  return a;
}

std::vector<Variant> compressed_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, Count first, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_compressed(first), tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("compressed attention", 1, [](Arch&, Plan&) {});
  add("compressed attention, naive, dropout, two residual streams", 0, [](Arch& a, Plan& p) {
    a.streams = 2;
    p.attention = AttentionImpl::naive;
    p.dropout = true;
  });
  add("compressed attention without positions, again", 0, [](Arch& a, Plan& p) {
    a.position = Position::none;
    p.recompute = Recompute::selective;
  });
  add("pooled keys that an indexer chooses", 2, [](Arch& a, Plan&) { a = tiny_pooled_choice(); });
  add("pooled keys that an indexer chooses, naive, again", 2, [](Arch& a, Plan& p) {
    a = tiny_pooled_choice();
    p.attention = AttentionImpl::naive;
    p.recompute = Recompute::full;
  });
  return all;
}

}  // namespace llmcalc::test
