// Recomputation of some layers of a chunk, or of layers in groups.

#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Arch layers(Count n, bool experts_too = false) {
  Arch a = experts_too ? even_moe() : even();
  a.layers = n;
  if (!experts_too) return a;
  a.moe.layers = {};
  for (Count i = 1; i < n; i += 2) a.moe.layers.insert(i);
  return a;
}
Plan recomputing(RecomputeMethod method, Count n) {
  Plan p;
  p.seq = 512;
  p.global_batch = 8;
  p.recompute = Recompute::full;
  p.recompute_method = method;
  p.recompute_layers = n;
  return p;
}
Plan block(Count n) { return recomputing(RecomputeMethod::block, n); }
Plan uniform(Count n) { return recomputing(RecomputeMethod::uniform, n); }
Plan none() {
  Plan p = block(0);
  p.recompute = Recompute::none;
  return p;
}

const Cluster cards = device(300e12, 2e12, 300e9);
TrainEstimate trained(const Arch& a, const Plan& p, const Layout& l = {}) { return train(a, p, l, cards); }

std::vector<Layout> layouts() {
  return {{},
          {.tp = 2, .sp = true, .dp = 2, .zero = Zero::gradients},
          {.pp = 2, .dp = 2, .zero = Zero::optimizer},
          {.dp = 4, .zero = Zero::weights},
          {.pp = 2, .chunks = 2, .schedule = Schedule::interleaved},
          {.pp = 2, .schedule = Schedule::zb_h1}};
}

}  // namespace

TEST_CASE("recomputing a block of no layers has no effect, and of all layers equals full recomputation", "[train]") {
  for (const bool experts : {false, true})
    for (const Layout& l : layouts()) {
      const Arch a = layers(8, experts);
      for (const auto& [some, known] : {std::pair{block(0), none()}, std::pair{block(8), uniform(1)}}) {
        const TrainEstimate x = trained(a, some, l), y = trained(a, known, l);
        CHECK(x.memory.peak == y.memory.peak);
        CHECK(x.memory.activations == y.memory.activations);
        CHECK(x.bound.total().value == Approx(y.bound.total().value).epsilon(1e-12));
        CHECK(x.flops.recompute == y.flops.recompute);
        CHECK(x.flops.executed == y.flops.executed);
        CHECK(x.flops.hardware_total == y.flops.hardware_total);
      }
    }
}

TEST_CASE("each recomputed layer costs a forward pass and frees its saved tensors except its input", "[train]") {
  const Arch a = layers(8);
  const Prices prices = price(a, block(1), {}, cards.device);
  const LayerPrice& row = prices.layer(0);
  for (Count n = 1; n <= 8; ++n) {
    const TrainEstimate more = trained(a, block(n)), less = trained(a, block(n - 1));
    CHECK(less.memory.activations - more.memory.activations == row.alive.saved - row.alive.input);
    CHECK(
        (more.bound.total() - less.bound.total()).value ==
        Approx(8 * (row.recomputed.bound.compute + row.recomputed.bound.memory + row.recomputed.bound.latency).value));
    CHECK(more.flops.recompute == less.flops.recompute + row.whole.recomputed);
    CHECK(more.flops.executed == less.flops.executed + row.whole.executed_recompute);
  }
}

TEST_CASE("every chunk of a pipeline recomputes its first layers", "[train]") {
  const Arch a = layers(8);
  const Layout l{.pp = 2, .chunks = 2, .schedule = Schedule::interleaved};
  const Flops layer = price(a, block(1), l, cards.device).layer(0).whole.recomputed;
  CHECK(trained(a, block(1), l).flops.recompute == 4 * layer);
  Layout uneven = l;
  for (const Count n : {1, 2, 2, 3}) uneven.stage_layers.push(n);
  CHECK(trained(a, block(2), uneven).flops.recompute == 7 * layer);
}

TEST_CASE("a checkpointed group of layers saves one input and holds its tensors while its backward runs", "[train]") {
  const Arch a = layers(8);
  const Liveness l = price(a, none(), {}, cards.device).layer(0).alive;
  const Bytes outside = trained(a, uniform(1)).memory.activations - 8 * l.input;  // activations of embedding and head
  const Bytes worst = std::max(l.forward + l.output, l.backward);
  for (const auto& [n, groups] : {std::pair{1, 8}, {2, 4}, {3, 3}, {4, 2}, {5, 2}, {8, 1}, {9, 1}}) {
    const TrainEstimate e = trained(a, uniform(n));
    CHECK(e.memory.activations == groups * l.input + outside);
    CHECK(e.bound.total() == trained(a, uniform(1)).bound.total());
    CHECK(e.flops.recompute == trained(a, uniform(1)).flops.recompute);
  }
  // Peak of groups of n: the last layer of the last whole group, plus the inputs of the groups before it.
  const auto live = [&](Count n) {
    const Memory m = trained(a, uniform(n)).memory;
    return m.peak - m.weights - m.gradients - m.optimizer;
  };
  const Bytes embedding = price(a, none(), {}, cards.device).embedding().alive.saved;
  CHECK(live(4) == embedding + 1 * l.input + 3 * l.saved + worst);
  CHECK(live(8) == embedding + 7 * l.saved + worst);
}

TEST_CASE("a recomputed module costs the forward pass of its operators", "[train]") {
  const Arch a = layers(4, true);
  Plan p = none();
  p.recompute = Recompute::selective;
  const auto again = [&](RecomputeModules m) {
    p.recompute_modules = m;
    return price(a, p, {.tp = 2, .sp = true}, cards.device).layer(0).recomputed;
  };
  const LayerPrice row = price(a, none(), {.tp = 2, .sp = true}, cards.device).layer(0);
  // A dense layer: norms and activations have no FLOPs; the three matrices of a gated MLP have 6 D F per token, over
  // two ranks.
  CHECK(again(RecomputeModule::norm).cost.executed == Flops());
  CHECK(again(RecomputeModule::act).cost.executed == Flops());
  CHECK(again(RecomputeModule::norm).cost.moved.activations > 0);
  CHECK(again(RecomputeModule::mlp).cost.executed.value ==
        static_cast<unsigned __int128>(6 * p.seq * a.hidden * a.mlp_width / 2));
  CHECK(again(RecomputeModule::norm).collectives.empty());
  CHECK(again(RecomputeModule::act).collectives.empty());
  Count messages = 0;  // the MLP gathers its input and scatters its result
  for (const CollectiveCall& e : again(RecomputeModule::mlp).collectives) messages += e.messages;
  CHECK(messages == 2);
  // The costs of modules that do not contain each other add up.
  RecomputeModules both = RecomputeModule::norm;
  both.add(RecomputeModule::mlp);
  CHECK(again(both).cost.moved.total() ==
        Approx(again(RecomputeModule::norm).cost.moved.total() + again(RecomputeModule::mlp).cost.moved.total()));
  both.add(RecomputeModule::act);  // within the MLP
  CHECK(again(both).cost.executed == again(RecomputeModule::mlp).cost.executed);
  CHECK(row.recomputed.cost.executed == Flops());
}
