// Partly frozen models without adapters: saved tensors, FLOPs and collectives, counted by a second method.

#include "calc/cost/held.hpp"
#include "calc/parameters.hpp"
#include "calc/train.hpp"
#include "calc/training/gradient_flow.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

using Part = llmcalc::Part;

SetOf<FreezePart> parts(std::initializer_list<FreezePart> some) {
  SetOf<FreezePart> all;
  for (const FreezePart p : some) all.add(p);
  return all;
}
const SetOf<FreezePart> blocks =
    parts({FreezePart::attention, FreezePart::mlp, FreezePart::experts, FreezePart::router, FreezePart::norm});
SetOf<FreezePart> with(SetOf<FreezePart> all, FreezePart p) {
  all.add(p);
  return all;
}

Plan frozen(const Frozen& f) {
  Plan p;
  p.seq = 512;
  p.global_batch = 4;
  p.frozen = f;
  return p;
}
Plan whole() { return frozen({}); }
Arch deep(Arch a, Count layers = 8) {
  a.layers = layers;
  if (a.moe.experts > 0) a.moe.layers = LayerSet::all(layers);
  return a;
}

const Cluster cards = device(300e12, 2e12, 300e9);
TrainEstimate trained(const Arch& a, const Plan& p, const Layout& l = {}) { return train(a, p, l, cards); }
Frozen lower(Count n) { return {.parts = FreezePart::embedding, .layers = LayerSet::all(n)}; }

/// FLOPs of one matmul with every matrix of a part, for one micro-batch.
Flops product_of(const Arch& a, const Plan& p, FreezePart part) {
  Flops all;
  for_each_operator(a, p, {}, training_step(p), [&](const OperatorRow& row) {
    const Linear* l = std::get_if<Linear>(&row.op.shape);
    if (l != nullptr && freeze_part(row.op.component) == part)
      all += row.segment.repeats * flops(2, l->rows, l->in, l->out);
  });
  return all;
}

/// An operator of the first layer, and the bytes saved for it and its inputs.
struct FirstLayerOp {
  Op op;
  Bytes saved;
};
FirstLayerOp first_layer_op(const Arch& a, const Plan& p, std::string_view name) {
  std::optional<FirstLayerOp> found;
  const Pricing training = pricing(p, Phase::training);
  for_each_operator(a, p, {}, training_step(p), [&](const OperatorRow& row) {
    if (row.op.name != name || row.segment.layer.first > 0) return;
    found = {row.op, saved_by_operator(row.segment.ops, training, row.segment.input_elements)[row.index]};
  });
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("every freezable part has a name, and every component belongs to a part", "[freeze]") {
  for (std::size_t i = 0; i < component_count; ++i)
    CHECK(parse<FreezePart>(name(freeze_part(static_cast<Component>(i)))) == freeze_part(static_cast<Component>(i)));
}

TEST_CASE("frozen parts have weights but neither gradients nor optimizer states", "[freeze]") {
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const Parameters n = parameters(a);
    const std::pair<FreezePart, Count> counts[] = {{FreezePart::embedding, n.embedding},
                                                   {FreezePart::head, n.lm_head},
                                                   {FreezePart::attention, n.attention},
                                                   {FreezePart::norm, n.norm}};
    const Memory all = trained(a, whole()).memory;
    for (const auto& [part, count] : counts) {
      const Memory m = trained(a, frozen({.parts = part})).memory;
      INFO(name(part));
      CHECK(m.trained == n.total - count);
      CHECK(m.parameters == n.total);
      CHECK(m.weights == all.weights);
      CHECK(m.gradients == Bytes(4 * m.trained));
      CHECK(m.optimizer == Bytes(12 * m.trained));
    }
    const Plan mlp = frozen({.parts = parts({FreezePart::mlp, FreezePart::experts, FreezePart::router})});
    CHECK(trained(a, mlp).memory.trained == n.total - n.mlp);
  }
}

TEST_CASE("a head tied to the token embedding is frozen with it", "[freeze]") {
  Arch a = even();
  a.tied_head = true;
  const Count table = a.vocabulary * a.hidden;
  CHECK(trained(a, frozen({.parts = FreezePart::embedding})).memory.trained == parameters(a).total - table);
  const Plan p = frozen({.parts = FreezePart::embedding});
  // The head's weight-gradient matmul is omitted.
  CHECK(training_flops(a, whole()).backward - training_flops(a, p).backward >= product_of(a, p, FreezePart::head));
}

TEST_CASE("frozen matrices above trained ones have only an input gradient", "[freeze]") {
  // The token embedding is trained, so gradients pass through all layers.
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const Flops full = training_flops(a, whole()).backward;
    for (const FreezePart part : {FreezePart::attention, FreezePart::mlp, FreezePart::experts, FreezePart::head}) {
      const Plan p = frozen({.parts = part});
      CHECK(full - training_flops(a, p).backward == product_of(a, p, part));
      CHECK(training_flops(a, p).forward == training_flops(a, whole()).forward);
    }
    Frozen upper{.layers = LayerSet::every(1, 1, 3)};
    const Work w = whole_flops(a, whole(), training_step(whole()), Phase::training).forward;
    CHECK(full - training_flops(a, frozen(upper)).backward == Flops(w.linear.value / 3 * 2));
  }
}

TEST_CASE("no backward pass runs below the lowest trained layer", "[freeze]") {
  for (const Arch& a : {deep(even()), deep(even_moe()), deep(even_latent())}) {
    const Work w = whole_flops(a, whole(), training_step(whole()), Phase::training).forward;
    const Flops layer((w.linear + w.core).value / 8);
    const auto backward = [&](const Frozen& f) { return training_flops(a, frozen(f)).backward; };
    // In the lowest trained layer the matmuls that read its normed input (queries, keys, values, or the latent rows)
    // pass a gradient to the norm, so no matmul of a trained layer is omitted.
    for (const Count n : {1, 3, 7}) CHECK(backward({}) - backward(lower(n)) == 2 * n * layer);
    CHECK(backward({.layers = LayerSet::all(3)}) ==
          backward({}) - Flops(w.linear.value / 8 * 3));  // the token embedding needs input gradients
    const Prices prices = price(a, frozen(lower(3)), {}, cards.device);
    CHECK(prices.kinds.size() == 3);  // frozen, the lowest trained, the others
    CHECK(prices.layer(0).layers == 3);
    CHECK(prices.layer(0).alive.saved == Bytes());
    CHECK(prices.layer(0).alive.backward == Bytes());
    CHECK(prices.layer(0).backward_input.bound.total() == Seconds());
    CHECK(prices.layer(0).backward_weight.bound.total() == Seconds());
    CHECK(prices.layer(2).alive.saved == price(a, whole(), {}, {}).layer(0).alive.saved);
    CHECK(prices.embedding().alive.saved == Bytes());
  }
}

TEST_CASE("training only the head computes only the head's weight gradient", "[freeze]") {
  for (const Arch& a : {even(), even_moe(), even_latent()}) {
    const Plan p = frozen({.parts = with(blocks, FreezePart::embedding)});
    const TrainingFlops f = training_flops(a, p);
    const Work w = whole_flops(a, p, training_step(p), Phase::training).forward;
    CHECK(f.backward == w.head);  // dW = x' dy; dx is not needed
    const Memory m = trained(a, p).memory;
    CHECK(m.trained == a.vocabulary * a.hidden);
    // The head's input of 512 tokens in 16 bits; norms, attention cores and matmuls save no tensors.
    CHECK(m.activations == Bytes(2 * 512 * a.hidden));
    const Prices prices = price(a, p, {}, cards.device);
    for (std::size_t k = 0; k < prices.kinds.size(); ++k) CHECK_FALSE(prices.layer(k).backward);
  }
}

TEST_CASE("operators have a backward pass exactly where automatic differentiation needs one", "[freeze]") {
  // prime_gqa with attention, norms and embedding frozen: mlp.up is the first trained operator.
  Step s{.sequences = 2, .queries = 3, .training = true};
  s.frozen.parts = parts({FreezePart::attention, FreezePart::norm, FreezePart::embedding});
  OpList ops = first_block(prime_gqa(), s);
  CHECK(mark_asking(ops, false));
  for (const Op& op : ops) {
    INFO(op.name);
    const bool later = op.name == "mlp.act" || op.name == "mlp.down" || op.name == "mlp.add";
    CHECK(op.asks == later);  // the input of mlp.up needs no gradient
    CHECK(has_backward(op) == (later || op.name == "mlp.up"));
    CHECK(has_input_gradient(op) == later);
  }
  // Saved: the inputs of up (13 values per token), of down (17) and of the activation (17).
  const Count tokens = 6;
  CHECK(liveness(ops, {}, tokens * 13).saved == Bytes(tokens * 2 * (13 + 17 + 17)));
  // At the peak, in down's backward, the gradients of its result (passed on by the residual add) and of its input are
  // also live.
  CHECK(liveness(ops, {}, tokens * 13).backward == Bytes(tokens * 2 * (13 + 17 + 17 + 13 + 17)));

  s.frozen.parts.add(FreezePart::mlp);
  OpList none = first_block(prime_gqa(), s);
  CHECK_FALSE(mark_asking(none, false));
  CHECK(liveness(none, {}, tokens * 13).saved == Bytes());
  CHECK(mark_asking(none, true));
  for (const Op& op : none) CHECK(op.asks);
}

TEST_CASE("freezing no layers equals full training, and freezing more never costs more", "[freeze]") {
  Cases cases(57);
  for (int i = 0; i < 150; ++i) {
    ClusterCase c = cases.any();
    INFO(text_of(c.layout));
    const Count layers = c.arch.layers, some = 1 + cases.below(layers - 1);
    const TrainEstimate all = train(c.arch, c.plan, c.layout, c.cluster);
    const Prices whole_prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    c.plan.frozen = {.layers = LayerSet::every(layers, 1, layers)};
    CHECK(train(c.arch, c.plan, c.layout, c.cluster).memory.peak == all.memory.peak);
    const Partition parts_of = all.partition;
    const Count stages = ranks(c.layout, Group::pipeline);
    std::vector<Memory> before;
    for (Count r = 0; r < stages; ++r) before.push_back(stage(whole_prices, c.plan, c.layout, parts_of, r).memory);
    for (const Frozen& f : {Frozen{.layers = LayerSet::all(some)}, lower(some),
                            Frozen{parts({FreezePart::embedding, FreezePart::attention}), LayerSet::all(some)},
                            Frozen{blocks, {}}, Frozen{with(blocks, FreezePart::embedding), {}}}) {
      c.plan.frozen = f;
      const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
      const TrainingFlops flops = training_flops(prices, c.plan, parts_of);
      CHECK(flops.model_total <= all.flops.model_total);
      CHECK(flops.forward == all.flops.forward);
      CHECK(flops.executed <= all.flops.executed);
      for (Count r = 0; r < stages; ++r) {
        const Memory m = stage(prices, c.plan, c.layout, parts_of, r).memory;
        const Memory& b = before[static_cast<std::size_t>(r)];
        CHECK(m.gradients <= b.gradients);
        CHECK(m.optimizer <= b.optimizer);
        CHECK(m.activations <= b.activations);
        CHECK(m.peak <= b.peak);
        CHECK(m.trained <= b.trained);
        CHECK(m.parameters == b.parameters);
      }
    }
  }
}

TEST_CASE("ranks reduce only trained gradients, and layers without backward have no backward collectives", "[freeze]") {
  const Arch a = deep(even());
  const Plan p = frozen(lower(4));
  for (const Zero z : {Zero::none, Zero::optimizer, Zero::weights}) {
    const Layout l{.dp = 4, .zero = z};
    const RowTimes t = row_times(price(a, p, l, cards.device), p, l, cards, Efficiency::full);
    CHECK(t.layer(0).reduce == Seconds());
    CHECK(t.embedding().reduce == Seconds());
    CHECK(t.layer(1).reduce > Seconds());
    CHECK((t.layer(0).gather > Seconds()) == (z == Zero::weights));
  }
  for (const bool sp : {false, true}) {
    const Layout l{.tp = 2, .sp = sp};
    const Prices prices = price(a, p, l, cards.device), full = price(a, whole(), l, cards.device);
    CHECK(prices.layer(0).backward_input.collectives.begin() == prices.layer(0).backward_input.collectives.end());
    const auto bytes = [](const CollectiveCalls& all) {
      Bytes b;
      for (const CollectiveCall& e : all) b += e.bytes;
      return b;
    };
    CHECK(bytes(prices.layer(0).forward.collectives) == bytes(full.layer(0).forward.collectives));
    CHECK(bytes(prices.layer(2).backward_input.collectives) == bytes(full.layer(0).backward_input.collectives));
  }
}

TEST_CASE("layers without backward are not recomputed", "[freeze]") {
  const Arch a = deep(even());
  for (const Recompute r : {Recompute::selective, Recompute::full}) {
    Plan p = frozen(lower(4)), all = whole();
    p.recompute = all.recompute = r;
    const Flops half = training_flops(a, p).recompute;
    CHECK(2 * half == training_flops(a, all).recompute);
  }
  // Under full recomputation, each trained layer (4 to 7) saves its input. With groups of 3 layers, which begin at
  // layers 0, 3 and 6, only the last two groups contain trained layers, and each saves one input.
  Plan p = frozen(lower(4));
  p.recompute = Recompute::full;
  const ModelChunk model{0, 8};
  const Bytes input(2 * 512 * 64);
  const auto saved = [&] {
    const Prices prices = price(a, p, {}, {});
    return saved_bytes(prices, p, model) - prices.embedding().alive.saved - prices.head().alive.saved;
  };
  CHECK(saved() == 4 * input);
  p.recompute_layers = 3;
  CHECK(saved() == 2 * input);
}

TEST_CASE("non-adjacent layers can be frozen, and every layer belongs to one kind", "[freeze]") {
  Arch a = deep(even_moe(), 9);
  a.moe.layers = LayerSet::every(1, 2, 9);
  for (const Frozen& f : {Frozen{}, lower(3), Frozen{.layers = LayerSet::every(0, 2, 9)},
                          Frozen{parts({FreezePart::embedding, FreezePart::mlp}), LayerSet::every(1, 3, 9)}}) {
    const LayerKinds kinds = layer_kinds(a, f);
    CHECK(kinds.size() <= most_kinds);
    Count layers = 0;
    for (const LayerKind& k : kinds) {
      layers += k.count;
      CHECK(k.count == k.layers.size());
      CHECK(k.layers.contains(k.first));
      CHECK(k.layers.contains(k.last));
    }
    CHECK(layers == 9);
    Count held = 0;
    for_each_operator(a, {}, {}, {.training = true, .frozen = f},
                      [&](const OperatorRow& row) { held += row.segment.repeats * learned(row.op.shape).total; });
    CHECK(held == parameters(a).total);
  }
}

TEST_CASE("a router without backward saves only the expert choices that trained experts read", "[freeze]") {
  const Arch a = even_moe();
  const SetOf<FreezePart> before =
      parts({FreezePart::embedding, FreezePart::norm, FreezePart::attention, FreezePart::router});
  const FirstLayerOp route = first_layer_op(a, frozen({.parts = before}), "mlp.route");
  CHECK_FALSE(has_backward(route.op));
  CHECK(route.saved == Bytes(8 * 512 * a.moe.experts));  // a probability and a gate of 4 bytes each per expert
  CHECK(first_layer_op(a, frozen({.parts = with(before, FreezePart::experts)}), "mlp.route").saved == Bytes());
}

TEST_CASE("a naive core without backward keeps its scores only while it runs", "[freeze]") {
  const Arch a = even();
  Plan p = frozen({.parts = with(blocks, FreezePart::embedding)});
  p.attention = AttentionImpl::naive;
  p.dropout = true;
  const Held core = held(first_layer_op(a, p, "attn.core").op, pricing(p, Phase::training));
  CHECK(core.saved == Bytes());
  CHECK(core.scratch == Bytes(2 * 512 * 512 * a.heads));
}

TEST_CASE("logit chunks consist of whole tokens, and a frozen head's input gradient is kept until backward",
          "[freeze]") {
  Arch a = even();
  a.tied_head = false;
  Plan p = whole();
  p.logits.chunks = 100;  // chunks of 6 of the 512 tokens; the last has 2
  CHECK(trained(a, p).memory.logits == Bytes(4 * 6 * a.vocabulary));
  const auto saved = [&](Count chunks, const Frozen& f) {
    p.logits.chunks = chunks;
    p.frozen = f;
    return price(a, p, {}, {}).head().alive.saved;
  };
  const Frozen head{.parts = FreezePart::head};
  CHECK(saved(100, {}) == saved(1, {}));
  CHECK(saved(100, head) == saved(1, {}));
  CHECK(saved(100, head) - saved(1, head) == Bytes(2 * 512 * a.hidden));
}
