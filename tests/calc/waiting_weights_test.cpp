// Tensors held for deferred weight gradients, and re-gathers of their sharded inputs.

#include "calc/step/row_time.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count tokens = 2 * 32, hidden = 64;

/// The block of the zero-bubble papers: MHA, an MLP of 4 h, 16 bits, saved scores, dropout everywhere.
Arch block() {
  Arch a = even();
  a.mlp = MlpKind::plain;
  a.norm = NormKind::layer_norm;
  a.kv_heads = a.heads = 8;
  a.mlp_width = 4 * hidden;
  return a;
}
Plan plan() {
  Plan p;
  p.seq = 32;
  p.micro_batch = 2;
  p.global_batch = 2;
  p.attention = AttentionImpl::naive;
  p.softmax_store = SoftmaxStore::seed;
  p.norm_stats = false;
  p.dropout = true;
  return p;
}
LayerPrice layer(const Layout& l, const Arch& a = block()) { return price(a, plan(), l, {}).layer(0); }

}  // namespace

// Inputs of q, k, v together, of the projection, of the MLP's two matrices: 2 + 2 + 2 + 8; gradients of their results:
// 6 + 2 + 8 + 2. arXiv:2401.10241, section 4.1: M_W = 32 sbh, M_B = sbh (34 + 5 a s / h).
TEST_CASE("deferred weight gradients need 32 sbh bytes per layer, less than the layer's activations", "[memory]") {
  const LayerPrice row = layer({});
  CHECK(row.for_weights == Bytes(32 * tokens * hidden));
  CHECK(row.alive.saved == Bytes(34 * tokens * hidden + 5 * 8 * 32 * tokens));
  CHECK(row.for_weights <= row.alive.saved);
}

TEST_CASE("sequence parallelism shards inputs of deferred weight gradients, but not row-sharded gradients",
          "[memory]") {
  for (const Count t : {2, 4, 8}) {
    const LayerPrice whole = layer({.tp = t}), shared = layer({.tp = t, .sp = true});
    CHECK(whole.for_weights == Bytes((24 * tokens * hidden) / t + 8 * tokens * hidden));
    CHECK(shared.for_weights == Bytes((28 * tokens * hidden) / t + 4 * tokens * hidden));
    CHECK(shared.alive.saved == Bytes((34 * tokens * hidden + 5 * 8 * 32 * tokens) / t));
    if (t == 2)
      CHECK(shared.for_weights <= shared.alive.saved);  // for larger t, whole gradients outweigh sharded scores
  }
}

TEST_CASE("sequence parallelism never increases the bytes held for deferred weight gradients", "[memory]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), block()})
    for (const Count t : {2, 4, 8}) {
      const Prices whole = price(a, plan(), {.tp = t}, {}), shared = price(a, plan(), {.tp = t, .sp = true}, {});
      for (std::size_t i = 0; i < whole.rows.size(); ++i)
        CHECK(shared.rows[i].for_weights <= whole.rows[i].for_weights);
    }
}

TEST_CASE("under sequence parallelism, re-gathering inputs slows weight gradients but not input gradients",
          "[cluster]") {
  constexpr double speed = 1e9;
  Cluster c = device(1e12, 1e11, speed);
  c.levels[0].ranks = 0;
  for (const Count t : {2, 4})
    for (const bool sp : {false, true}) {
      const Layout l{.tp = t, .sp = sp};
      Plan p = plan();
      p.overlap = 0;
      const Prices prices = price(block(), p, l, c.device);
      const RowTime row = row_times(prices, p, l, c, Efficiency::full).layer(0);
      const double one = 2.0 * tokens * hidden * static_cast<double>(t - 1) / static_cast<double>(t) / speed;
      INFO("tp " << t << " sp " << sp);
      // two re-gathered inputs; two reduce-scatters and all-gathers of gradients, or two all-reduces of double size
      CHECK(row.backward_weight[Part::tp].value == Approx(sp ? 2 * one : 0).epsilon(1e-12));
      CHECK(row.backward_input[Part::tp].value == Approx(4 * one).epsilon(1e-12));
    }
}

TEST_CASE("keys of latent attention are also re-gathered for input gradients", "[cluster]") {
  const LayerPrice row = layer({.tp = 2, .sp = true}, even_latent());
  bool apart = false;
  for (const CollectiveCall& e : row.backward_input.collectives)
    apart = apart || (e.beside > 0 && e.for_weights < e.beside);
  CHECK(apart);
}

TEST_CASE("a stage reports its micro-batches that wait only for weight gradients", "[cluster][memory]") {
  Arch a = block();
  a.layers = 8;
  Plan p = plan();
  p.global_batch = 2 * 32;
  Layout l{.pp = 4, .schedule = Schedule::zb_h1};
  const Prices prices = price(a, p, l, {});
  const Partition all = partition(prices, p, l, Cluster{});
  const Stage last = stage(prices, p, l, all, 3);
  CHECK(last.in_flight == 4);
  CHECK(last.for_weights == 3);
  CHECK(stage(prices, p, l, all, 0).for_weights == 0);
}
