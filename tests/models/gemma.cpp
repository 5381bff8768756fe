#include "tests/models/gemma.hpp"

namespace llmcalc::test {

namespace {

/// The model's attention in these layers, with keys and values shared from an earlier layer.
LayerMixer sharing(const Arch& a, const Reach& reach, const LayerSet& layers) {
  LayerMixer m;
  static_cast<Mixer&>(m) = a;
  m.shared_kv = true;
  m.reach = reach;
  m.layers = layers;
  return m;
}

std::vector<Variant> sharing_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_sharing(), tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("keys and values of earlier layers", [](Arch&, Plan&) {});
  add("keys and values of earlier layers, naive, dropout",
      [](Arch&, Plan& p) { p.attention = AttentionImpl::naive, p.dropout = true; });
  add("keys and values of earlier layers, cores again", [](Arch&, Plan& p) { p.recompute = Recompute::selective; });
  add("keys and values of earlier layers, all again", [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  add("wide keys and values of earlier layers, all again", [](Arch& a, Plan& p) {
    p.recompute = Recompute::full;
    a.mlp_width = 1;
    for (Mixer* m : {static_cast<Mixer*>(&a), static_cast<Mixer*>(&a.mixers[0]), static_cast<Mixer*>(&a.mixers[1])})
      m->kv_heads = 4, m->value_dim = 9;
  });
  add("keys of the layer before, under factors of the queries", [](Arch& a, Plan&) {
    a.local = {};
    a.mixers = {};
    a.qk_norm = QkNorm::per_head;
    a.mixers.push(sharing(a, {}, LayerSet::every(1, 2, 4)));
    a.mixers[0].query_scale = true;
  });
  add("keys and values of the layer before", [](Arch& a, Plan&) {
    a.local = {};
    a.mixers = {};
    a.mixers.push(sharing(a, {}, LayerSet::every(1, 2, 4)));
  });
  return all;
}

std::vector<Variant> layer_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_llama(), tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("norms of values", [](Arch& a, Plan&) { a.value_norm = true; });
  add("keys that are the values", [](Arch& a, Plan& p) {
    a.value_norm = a.key_is_value = true;
    a.qk_norm = QkNorm::per_head;
    p.attention = AttentionImpl::naive;
  });
  add("factors of layers", [](Arch& a, Plan&) { a.output_scale = true; });
  add("factors of layers, all again", [](Arch& a, Plan& p) {
    a.output_scale = true;
    p.recompute = Recompute::full;
  });
  add("factors of layers with narrow MLPs", [](Arch& a, Plan&) { a.output_scale = true, a.mlp_width = 1; });
  add("factors of layers with norms of outputs",
      [](Arch& a, Plan&) { a.output_scale = true, a.norm_placement = NormPlacement::output; });
  return all;
}

std::vector<Variant> input_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_llama(), tiny_plan()};
    v.arch.per_layer = {.rows = 17, .width = 61};  // wide enough for bf16 rounding errors to average out
    v.arch.activation = Activation::gelu_tanh;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("inputs of layers", [](Arch&, Plan&) {});
  add("inputs of layers, gate in one kernel", [](Arch&, Plan& p) { p.glu_store = GluStore::fused; });
  add("inputs of layers, gate made again", [](Arch&, Plan& p) { p.glu_store = GluStore::recompute; });
  add("inputs of layers, all again, dropout", [](Arch&, Plan& p) { p.recompute = Recompute::full, p.dropout = true; });
  add("wide inputs of layers, narrow MLPs, factors", [](Arch& a, Plan& p) {
    a.per_layer.width = 60;
    a.output_scale = true;
    a.mlp_width = 1;
    p.recompute = Recompute::full;
  });
  return all;
}

/// Gemma 3n: AltUp streams, a low-rank path parallel to attention, keys and values shared across layers.
std::vector<Variant> alternating_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_llama(), tiny_plan()};
    v.arch.streams = 3;
    v.arch.altup = true;
    v.arch.laurel_rank = 5;
    v.arch.per_layer = {.rows = 17, .width = 61};
    v.arch.norm_placement = NormPlacement::both;
    v.arch.norms_per_layer = 4;
    v.arch.activation = Activation::gelu_tanh;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("alternating updates", [](Arch&, Plan&) {});
  add("alternating updates, keys and values of the layer before, tied", [](Arch& a, Plan&) {
    a.streams = 4;
    a.tied_head = a.value_norm = true;
    a.mixers.push(sharing(a, {}, LayerSet::every(1, 1, 2)));
  });
  add("alternating updates without a low rank, norms before, dropout", [](Arch& a, Plan& p) {
    a.laurel_rank = 0;
    a.norm_placement = NormPlacement::pre;
    a.norms_per_layer = 2;
    p.dropout = true;
  });
  add("alternating updates, all again, dropout", [](Arch& a, Plan& p) {
    a.streams = 2;
    p.recompute = Recompute::full;
    p.dropout = true;
  });
  add("alternating updates, GLU made again, statistics not kept", [](Arch&, Plan& p) {
    p.glu_store = GluStore::recompute;
    p.norm_stats = false;
  });
  add("alternating updates around experts", [](Arch& a, Plan&) {
    a.moe.experts = a.moe.top_k = 4;
    a.moe.width = 6;
    a.moe.layers = LayerSet::every(1, 1, 2);
  });
  return all;
}

std::vector<Variant> expert_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_llama(), tiny_plan()};
    v.arch.moe.experts = 4;
    v.arch.moe.top_k = 4;  // all experts, since bf16 rounding must not decide between two
    v.arch.moe.width = 6;
    v.arch.moe.layers = LayerSet::every(1, 1, 2);
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("norm and factors of a router", [](Arch& a, Plan&) { a.moe.router_scales = true; });
  add("experts beside a dense MLP", [](Arch& a, Plan&) { a.moe.with_dense_mlp = true; });
  add("experts beside a dense MLP, norm and factors of the router", [](Arch& a, Plan& p) {
    a.moe.with_dense_mlp = a.moe.router_scales = true;
    a.norm_placement = NormPlacement::both;
    a.norms_per_layer = 4;
    p.glu_store = GluStore::recompute;
  });
  return all;
}

}  // namespace

Arch tiny_sharing() {
  Arch a = tiny_llama();
  a.layers = 4;
  a.local = {.reach = {3}, .layers = LayerSet::every(1, 1, 2)};
  a.mixers.push(sharing(a, {}, LayerSet::every(2, 1, 3)));
  a.mixers.push(sharing(a, {3}, LayerSet::every(3, 1, 4)));
  return a;
}

std::vector<Variant> gemma_variants() {
  std::vector<Variant> all = sharing_variants();
  for (const auto& more : {layer_variants(), input_variants(), alternating_variants(), expert_variants()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace llmcalc::test
