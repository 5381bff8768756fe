// Hybrid sharding: each replica of the states holds all experts and runs separately, except for reductions across
// replicas.

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A single-replica run, and the same run on several replicas.
struct Copied {
  ClusterCase one, all;
};

/// Both runs on nodes that hold one replica each, with a network between the nodes that is a thousand times slower.
Copied copied(ClusterCase c, Count copies) {
  c.layout.hsdp = 0;
  c.cluster.levels[0].ranks = mul(c.layout.tp, c.layout.cp, c.layout.dp);
  c.cluster.levels[1].bandwidth = 1e-3 * c.cluster.levels[0].bandwidth;
  Copied r{c, c};
  r.all.layout.hsdp = mul(c.layout.cp, c.layout.dp);
  r.all.layout.dp = mul(copies, c.layout.dp);
  r.all.plan.global_batch = mul(copies, c.plan.global_batch);
  return r;
}

Bytes gradients(const Plan& p, const Learned& l, Count ranks) {
  return Bytes(mul(p.gradient_bytes, ceil_div(l.trained(), ranks)));
}

/// Seconds to reduce a row's gradients across replicas.
double between_copies(const ClusterCase& c, const LayerPrice& row) {
  const auto sum = [&](Group shard, Group replica, const Learned& l) {
    const CollectiveCall e{.group = replica,
                           .op = CollectiveOp::all_reduce,
                           .messages = 1,
                           .bytes = gradients(c.plan, l, ranks(c.layout, shard))};
    return l.trained() > 0 ? communication_time(e, c.layout, c.cluster).total().value : 0;
  };
  Learned own = row.learned - row.experts;
  if (copies_table(c.layout)) own += row.tied;
  return sum(Group::shard, Group::replica, own) + sum(Group::expert_shard, Group::expert_replica, row.experts);
}

}  // namespace

TEST_CASE("each replica of sharded states holds as many bytes as a single-replica run", "[cluster][memory][hsdp]") {
  Cases cases(41);
  int compared = 0;
  while (compared < 300) {
    ClusterCase c = cases.any();
    c.layout.hsdp = 0;
    if (c.layout.zero == Zero::none || !Cases::sound(c)) continue;
    const Partition p = partition(price(c.arch, c.plan, c.layout, c.cluster.device), c.plan, c.layout, c.cluster);
    const Copied r = copied(c, 1 + cases.below(4));
    INFO(text_of(r.all.layout));
    const Prices one = price(c.arch, c.plan, c.layout, c.cluster.device),
                 all = price(c.arch, r.all.plan, r.all.layout, c.cluster.device);
    for (Count rank = 0; rank < c.layout.pp; ++rank) {
      const Memory a = stage(one, c.plan, c.layout, p, rank).memory,
                   b = stage(all, r.all.plan, r.all.layout, p, rank).memory;
      REQUIRE(a.weights == b.weights);
      REQUIRE(a.gradients == b.gradients);
      REQUIRE(a.optimizer == b.optimizer);
      REQUIRE(a.gathered == b.gathered);
      REQUIRE(a.buckets == b.buckets);
      REQUIRE(a.activations == b.activations);
      REQUIRE(a.total == b.total);
      REQUIRE(a.peak == b.peak);
    }
    ++compared;
  }
}

TEST_CASE("under hybrid sharding, replicas exchange only summed gradient shards", "[cluster][bytes][hsdp]") {
  Cases cases(42);
  int compared = 0;
  while (compared < 300) {
    ClusterCase c = cases.any();
    c.layout.hsdp = 0;
    if (c.layout.zero == Zero::none || !Cases::sound(c)) continue;
    const Copied r = copied(c, 2 + cases.below(3));
    INFO(text_of(r.all.layout));
    const Prices prices = price(r.one.arch, r.one.plan, r.one.layout, r.one.cluster.device);
    const auto times = [&](const ClusterCase& k) {
      return row_times(prices, k.plan, k.layout, k.cluster, Efficiency::full);
    };
    const RowTimes one = times(r.one), all = times(r.all);
    for (std::size_t i = 0; i < one.rows.size(); ++i) {
      const RowTime &a = one.rows[i], &b = all.rows[i];
      REQUIRE(b.forward.total().value == Approx(a.forward.total().value).epsilon(1e-12));
      REQUIRE(b.backward().value == Approx(a.backward().value).epsilon(1e-12));
      REQUIRE(b.gather.value == Approx(a.gather.value).epsilon(1e-12));
      REQUIRE(b.reduce.value ==
              Approx(a.reduce.value + between_copies(r.all, prices.rows[i])).epsilon(1e-12).margin(1e-18));
    }
    ++compared;
  }
}

TEST_CASE("experts are distributed across a replica's ranks as in a single-replica run", "[cluster][layout][hsdp]") {
  Cases cases(43);
  for (int i = 0; i < 2000; ++i) {
    Layout one = cases.layout();
    one.hsdp = 0;
    Layout all = one;
    all.hsdp = mul(one.cp, one.dp);
    all.dp = mul(one.dp, 1 + cases.below(4));
    INFO(text_of(all));
    const LayoutFlaw f = flaw(even_moe(), one), of_copies = flaw(even_moe(), all);
    const bool divides_over_copies = of_copies == LayoutFlaw::expert_shards;
    CHECK((of_copies == f || (f == LayoutFlaw::expert_ranks && divides_over_copies)));
  }
  CHECK(flaw(even_moe(), {.ep = 8, .dp = 64, .hsdp = 4}) == LayoutFlaw::expert_shards);
  CHECK(flaw(even_moe(), {.ep = 8, .dp = 64, .hsdp = 8}) == LayoutFlaw::none);
  const Layout l{.tp = 2, .sp = true, .ep = 4, .etp = 1, .dp = 32, .hsdp = 8};  // efsdp = 8 x 2 / (4 x 1)
  CHECK(ranks(l, Group::expert_shard) == 4);
  CHECK(ranks(l, Group::expert_replica) == 4);
  CHECK(lines(l, Group::expert_shard).inner.stride == 4);
  CHECK(lines(l, Group::expert_replica).inner.stride == 16);  // devices of a replica
}
