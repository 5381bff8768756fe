#include "tests/models/sparse.hpp"

namespace llmcalc::test {

Indexer lightning_indexer() { return {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 4}; }
Indexer block_indexer(Count blocks) {
  return {.kind = IndexerKind::blocks, .heads = 2, .width = 4, .top_k = blocks, .block = 2};
}

Arch tiny_sparse(Count layers) {
  Arch a = tiny_deepseek();
  a.moe = {};
  a.layers = layers;
  a.indexer = lightning_indexer();
  return a;
}

Arch with_shared_choice(Arch a) {
  LayerMixer m;
  static_cast<Mixer&>(m) = a;
  m.indexer.shared = true;
  m.layers = LayerSet::every(a.layers - 1, 1, a.layers);
  a.mixers.push(m);
  return a;
}

namespace {

class SparseVariants {
 public:
  void add(const std::string& name, const Arch& a, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  }
  std::vector<Variant> all;
};

}  // namespace

std::vector<Variant> sparse_variants() {
  SparseVariants c;
  // bf16 rounding must not decide between two keys, so the first layer selects from inputs without rounding
  // differences.
  const Arch shared = with_shared_choice(tiny_sparse(2));
  c.add("chosen keys", tiny_sparse(1), [](Arch&, Plan&) {});
  c.add("chosen keys, naive", tiny_sparse(1), [](Arch&, Plan& p) { p.attention = AttentionImpl::naive; });
  c.add("a shared choice", shared, [](Arch& a, Plan&) { a.attention_gate = AttentionGate::per_head; });
  c.add("a shared choice, naive, selective", shared, [](Arch&, Plan& p) {
    p.attention = AttentionImpl::naive;
    p.recompute = Recompute::selective;
  });
  c.add("a shared choice, full", shared, [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  const Arch llama = tiny_llama();
  c.add("the second of two choices, shared", llama, [](Arch& a, Plan& p) {
    a.layers = 3;
    a.indexer = block_indexer(1);
    a = with_shared_choice(a);
    p.recompute = Recompute::full;
  });
  c.add("chosen blocks", llama, [](Arch& a, Plan&) { a.layers = 1, a.indexer = block_indexer(1); });
  c.add("chosen blocks, sinks, naive", llama, [](Arch& a, Plan& p) {
    a.layers = 1;
    a.indexer = block_indexer(1);
    a.attention_sinks = true;
    p.attention = AttentionImpl::naive;
  });
  c.add("chosen blocks behind a layer of all keys, gated", llama, [](Arch& a, Plan& p) {
    a.attention_gate = AttentionGate::per_channel;
    LayerMixer m;
    static_cast<Mixer&>(m) = a;
    a.indexer = block_indexer(2);
    m.layers = LayerSet::every(1, 1, 2);
    a.mixers.push(m);
    p.recompute = Recompute::selective;
  });
  return c.all;
}

}  // namespace llmcalc::test
