// Collectives over the levels of a cluster.

#include "calc/step/assemble.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double near = 8e9, far = 1e9, wait_near = 1e-6, wait_far = 5e-6;

/// Nodes of 8 and a network.
Cluster two_levels() {
  Cluster c = device(1e12, 1e11, near, wait_near);
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(far), .latency = Seconds(wait_far)});
  return c;
}
Cluster flat() {
  Cluster c = device(1e12, 1e11, near, wait_near);
  c.levels[0].ranks = 0;
  return c;
}
double seconds(CollectiveOp op, Group g, const Layout& l, const Cluster& c, Count bytes = 1 << 20, Count messages = 1) {
  return communication_time({.group = g, .op = op, .messages = messages, .bytes = Bytes(bytes)}, l, c).total().value;
}
double share(Count n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

}  // namespace

TEST_CASE("a two-level ring is a ring inside a node plus a ring of each rank's share between nodes",
          "[cluster][exchange]") {
  constexpr double m = 1 << 20;
  for (const Count g : {1, 2, 4, 8})
    for (const Count n : {1, 2, 5, 16})
      for (const auto& [op, passes] : {std::pair{CollectiveOp::all_reduce, 2.0},
                                       {CollectiveOp::all_gather, 1.0},
                                       {CollectiveOp::reduce_scatter, 1.0}}) {
        // g ranks of the group in each node of 8; the node's other ranks are tensor-parallel
        const Layout l{.tp = 8 / g, .dp = mul(g, n)};
        const double transfer = share(g) * m / near + share(n) * m / static_cast<double>(g) / far;
        const double waits = static_cast<double>(g - 1) * wait_near + static_cast<double>(n - 1) * wait_far;
        CHECK(seconds(op, Group::data, l, two_levels()) == Approx(passes * (transfer + waits)).epsilon(1e-12));
      }
}

TEST_CASE("an all-reduce across nodes takes as long as a hierarchical all-reduce", "[cluster][exchange]") {
  const Cluster c = two_levels();
  for (const Count n : {2, 4, 32})
    CHECK(seconds(CollectiveOp::all_reduce, Group::data, {.dp = 8 * n}, c) ==
          Approx(hierarchical_all_reduce_time(Bytes(1 << 20), 8, n, c.levels[0], c.levels[1]).value).epsilon(1e-12));
}

TEST_CASE("a collective over a single network level takes as long as a flat collective", "[cluster][exchange]") {
  const Cluster c = flat();
  for (const Count n : {1, 2, 7, 64})
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_to_all})
      CHECK(seconds(op, Group::data, {.dp = n}, c) ==
            Approx(collective_time(op, default_algorithm(op), Bytes(1 << 20), n, c.levels[0]).value).epsilon(1e-12));
}

TEST_CASE("a second network level does not affect groups inside the first level", "[cluster][exchange]") {
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all, CollectiveOp::p2p})
    CHECK(seconds(op, Group::tensor, {.tp = 8, .dp = 4}, two_levels()) ==
          seconds(op, Group::tensor, {.tp = 8}, flat()));
}

TEST_CASE("an all-to-all sends each part over the level that connects the two ranks", "[cluster][exchange]") {
  // 8 ranks per node, 4 nodes: 7 messages of M/32 inside a node, concurrent with 24 between nodes.
  constexpr double m = 1 << 20;
  const Layout l{.ep = 32, .dp = 32};
  const double inside = 7 * m / 32 / near, between = 24 * m / 32 / far;
  const double waits = std::max(7 * wait_near, 24 * wait_far);
  CHECK(seconds(CollectiveOp::all_to_all, Group::expert, l, two_levels()) ==
        Approx(std::max(inside, between) + waits).epsilon(1e-12));
}

TEST_CASE("total latency is proportional to the number of messages", "[cluster][exchange]") {
  const Layout l{.dp = 32};
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
    const double one = seconds(op, Group::data, l, two_levels(), 0),
                 many = seconds(op, Group::data, l, two_levels(), 0, 9);
    CHECK(one > 0);
    CHECK(many == Approx(9 * one).epsilon(1e-12));
  }
}

TEST_CASE("pipeline messages use the level that connects neighboring stages", "[cluster][exchange]") {
  const double m = 1 << 20;
  CHECK(seconds(CollectiveOp::p2p, Group::pipeline, {.tp = 2, .pp = 4}, two_levels()) ==
        Approx(m / near + wait_near).epsilon(1e-12));
  CHECK(seconds(CollectiveOp::p2p, Group::pipeline, {.tp = 8, .pp = 4}, two_levels()) ==
        Approx(m / far + wait_far).epsilon(1e-12));
}

TEST_CASE("the overlapped part of a collective inside a layer never exceeds the layer's work", "[cluster][exchange]") {
  Plan p;
  p.seq = 64;
  p.global_batch = 1;
  const Layout l{.tp = 2};
  int longer = 0, shorter = 0;
  for (const double bandwidth : {1e7, 1e12})
    for (const double hidden : {0.5, 1.0}) {
      p.overlap = hidden;
      const Cluster c = device(1e12, 1e11, bandwidth);
      const Prices prices = price(even(), p, l, c.device);
      const RowTime t = row_times(prices, p, l, c, Efficiency::full).layer(0);
      const auto check = [&](const PassPrice& pass, const Spent& spent) {
        const double all = communication_time(pass.collectives, l, c).total().value;
        const double work = (spent[Part::matmul] + spent[Part::attention] + spent[Part::elementwise]).value;
        CHECK(spent[Part::tp].value == Approx(all - hidden * std::min(work, all)).epsilon(1e-12).margin(1e-18));
        ++(all > work ? longer : shorter);
      };
      check(prices.layer(0).forward, t.forward);
      check(prices.layer(0).backward_input, t.backward_input);
    }
  CHECK(longer == 4);
  CHECK(shorter == 4);
}
