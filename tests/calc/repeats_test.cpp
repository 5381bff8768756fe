// Layers that repeat the weights of others (ALBERT, Ouro): counts per weight, and counts per layer.

#include "calc/arch/layer_kinds.hpp"
#include "calc/layout.hpp"
#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/step/row_time.hpp"
#include "calc/train.hpp"
#include "calc/training/offload.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Three layers, twice: layers 3 to 5 have the weights of layers 0 to 2, and the final norm also follows layer 2.
Arch twice() {
  Arch a = even();
  a.layers = 6;
  a.repeats = {3, LayerSet::every(3, 1, 6), true};
  return a;
}
/// The same six layers with separate weights, and without the norm in between.
Arch six() {
  Arch a = even();
  a.layers = 6;
  return a;
}

const Plan plan{.seq = 16, .micro_batch = 1, .global_batch = 8};

}  // namespace

TEST_CASE("a repeated layer shares the weights of the layer one period before it", "[engine][repeats]") {
  Arch a = twice();
  a.layers = 9;
  a.repeats.layers = LayerSet::every(3, 1, 9);
  CHECK(a.weights_of(2) == 2);
  CHECK(a.weights_of(5) == 2);
  CHECK(a.weights_of(8) == 2);
  CHECK(a.weights_of(-1) == -1);
}

TEST_CASE("repeated layers, and a run's last layer with its final norm, form separate kinds", "[engine][repeats]") {
  const LayerKinds kinds = layer_kinds(twice());
  REQUIRE(kinds.size() == 3);
  CHECK((!kinds[0].repeats && !kinds[0].ends_run && kinds[0].count == 2));
  CHECK((!kinds[1].repeats && kinds[1].ends_run && kinds[1].first == 2));
  CHECK((kinds[2].repeats && !kinds[2].ends_run && kinds[2].count == 3));
}

TEST_CASE("repeated weights count once as parameters, and once per layer in matmuls", "[engine][repeats]") {
  const Parameters p = parameters(twice());
  CHECK(p.total == parameters(even()).total);  // the parameters of three layers
  CHECK(p.matmul == parameters(six()).matmul);
  CHECK(cache_elements_per_token(twice()) == cache_elements_per_token(six()));
}

TEST_CASE("with repeated layers, states scale with distinct weights, FLOPs and saved tensors with layers",
          "[engine][repeats]") {
  const Prices own = price(six(), plan, {}, {}), shared = price(twice(), plan, {}, {});
  CHECK(shared.whole.forward.total() == own.whole.forward.total());
  CHECK(shared.whole.backward == own.whole.backward);
  const auto states = [](const Arch& a) {
    const Prices p = price(a, plan, {}, {});
    return training_states(p, plan, {}, std::array{whole_model(p.kinds)});
  };
  CHECK(states(twice()).weights == states(even()).weights);
  CHECK(states(twice()).gradients == states(even()).gradients);
  CHECK(states(twice()).optimizer == states(even()).optimizer);
  const Bytes norm = Bytes(16 * 64 * 2 + 16 * 4);  // its input, and a statistic per token
  CHECK(2 * shared.layer(0).alive.saved + shared.layer(1).alive.saved + 3 * shared.layer(2).alive.saved ==
        6 * own.layer(0).alive.saved + norm);
}

TEST_CASE("only ZeRO-3 re-gathers repeated weights, and their gradients are reduced once", "[engine][repeats]") {
  const Layout sharded{.dp = 8, .zero = Zero::weights};
  const Prices p = price(twice(), plan, sharded, {});
  CHECK(p.layer(2).learned.total == 0);
  CHECK(p.layer(2).borrowed.own == p.layer(0).learned.total);
  CHECK(p.layer(2).borrowed.weights == p.layer(0).weights);
  Cluster c = device(1e12, 1e11, 1e9);
  c.levels[0].ranks = 0;
  for (const Zero zero : {Zero::gradients, Zero::weights}) {
    const Layout l{.dp = 8, .zero = zero};
    const RowTimes times = row_times(price(twice(), plan, l, c.device), plan, l, c, Efficiency::full);
    INFO("ZeRO-" << static_cast<int>(zero));
    CHECK(times.layer(0).gather > Seconds());
    CHECK(times.layer(2).gather == (zero == Zero::weights ? times.layer(0).gather : Seconds()));
    CHECK(times.layer(0).reduce > Seconds());
    CHECK(times.layer(2).reduce == Seconds());
  }
}

TEST_CASE("repeated weights move from the host for each layer, and their gradients only once", "[engine][repeats]") {
  Plan p = plan;
  p.offload.weights = p.offload.optimizer = {1, 1};
  const Prices prices = price(twice(), p, {}, {});
  const RowTravel own = row_travel(prices.layer(0), p, {}, false), again = row_travel(prices.layer(2), p, {}, false);
  CHECK(own.weights > Bytes());
  CHECK(again.weights == own.weights);
  CHECK(again.backward_weights == own.backward_weights);
  CHECK(own.gradients > Bytes());
  CHECK(again.gradients == Bytes());
}

TEST_CASE("tensor-parallel ranks sum the gradients of repeated norms once", "[engine][repeats]") {
  const Layout l{.tp = 2, .sp = true};
  const Prices p = price(twice(), plan, l, {});
  CHECK(p.layer(0).summed > 0);
  CHECK(p.layer(1).summed == p.layer(0).summed);  // the head sums the final norm's gradient
  CHECK(p.layer(2).summed == 0);
}

TEST_CASE("pipeline parallelism is rejected for models with repeated layers", "[engine][repeats]") {
  CHECK(flaw(twice(), {.pp = 2}) == LayoutFlaw::pipeline_state);
  CHECK(flaw(six(), {.pp = 2}) == LayoutFlaw::none);
}
