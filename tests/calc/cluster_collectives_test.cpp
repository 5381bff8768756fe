// Collective algorithms over the levels of a cluster.

#include <algorithm>

#include "calc/step/assemble.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double near = 8e9, far = 1e9, wait_near = 1e-6, wait_far = 5e-6;
constexpr std::array collectives{CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter};
constexpr std::array all_ways{Collectives::ring, Collectives::tree, Collectives::in_network, Collectives::fastest};

/// Nodes of 8 and a network. The flags enable in-network reduction on each level.
Cluster nodes(bool node_reduces = false, bool network_reduces = false) {
  Cluster c = device(1e12, 1e11, near, wait_near);
  c.levels[0].reduces = node_reduces;
  c.levels.push(
      {.ranks = 0, .bandwidth = BytesPerSecond(far), .latency = Seconds(wait_far), .reduces = network_reduces});
  return c;
}
double seconds(CollectiveOp op, const Layout& l, const Cluster& c, Count bytes, double link = 1, Count messages = 1) {
  const CollectiveCall e{.group = Group::data, .op = op, .messages = messages, .bytes = Bytes(bytes)};
  return communication_time(e, l, c, {.inside = link, .between = link}).total().value;
}
Layout replicas_of(Count n, Collectives by) { return {.dp = n, .collectives = by}; }

constexpr Count m = Count{1} << 20;
constexpr double inside = 2 * (7.0 / 8 * m / near + 7 * wait_near);  // reduce-scatter and all-gather inside a node

}  // namespace

TEST_CASE("tree all-reduces between nodes move twice a rank's share and take 2 log n latencies",
          "[cluster][collectives]") {
  for (const auto& [n, levels] : {std::pair<Count, double>{2, 1}, {3, 2}, {4, 2}, {16, 4}, {17, 5}})
    CHECK(seconds(CollectiveOp::all_reduce, replicas_of(8 * n, Collectives::tree), nodes(), m) ==
          Approx(inside + 2 * m / 8 / far + 2 * levels * wait_far).epsilon(1e-12));
}

TEST_CASE("tree algorithms affect only all-reduces that cross nodes", "[cluster][collectives]") {
  for (const CollectiveOp op : collectives)
    for (const Count n : {2, 8, 32})
      if (op != CollectiveOp::all_reduce || n <= 8)
        CHECK(seconds(op, replicas_of(n, Collectives::tree), nodes(), m) ==
              seconds(op, replicas_of(n, Collectives::ring), nodes(), m));
}

TEST_CASE("an in-network all-reduce sends every byte of a rank to the switch once and receives it once",
          "[cluster][collectives]") {
  // 8 ranks in a node whose switch reduces: M / B and 2 latencies. The ring of 4 nodes over M/8 remains: 2 x 3/4 M/8
  // and 6 latencies.
  const double ring_between = 2 * 3.0 / 4 * m / 8 / far + 6 * wait_far, in_node = m / near + 2 * wait_near;
  CHECK(seconds(CollectiveOp::all_reduce, replicas_of(32, Collectives::in_network), nodes(true), m) ==
        Approx(in_node + ring_between).epsilon(1e-12));
  const double switch_between = m / 8 / far + 2 * wait_far;
  CHECK(seconds(CollectiveOp::all_reduce, replicas_of(32, Collectives::in_network), nodes(true, true), m) ==
        Approx(in_node + switch_between).epsilon(1e-12));
  CHECK(seconds(CollectiveOp::all_reduce, replicas_of(32, Collectives::in_network), nodes(false, true), m) ==
        Approx(inside + switch_between).epsilon(1e-12));
}

TEST_CASE("in-network all-gathers and reduce-scatters move the bytes of a ring in one message",
          "[cluster][collectives]") {
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter})
    CHECK(seconds(op, replicas_of(8, Collectives::in_network), nodes(true), m) ==
          Approx(7.0 / 8 * m / near + wait_near).epsilon(1e-12));
}

TEST_CASE("on a single network level, each algorithm takes its single-link time", "[cluster][collectives]") {
  const Cluster c = nodes(true, true);
  const auto one = [&](CollectiveOp op, CollectiveAlgorithm a, Count n, const Link& link) {
    return collective_time(op, a, Bytes(m), n, link).value;
  };
  for (const Count n : {2, 5, 8})
    for (const CollectiveOp op : collectives) {
      CHECK(seconds(op, replicas_of(n, Collectives::ring), c, m) ==
            Approx(one(op, CollectiveAlgorithm::ring, n, c.levels[0])).epsilon(1e-12));
      CHECK(seconds(op, replicas_of(n, Collectives::in_network), c, m) ==
            Approx(one(op, CollectiveAlgorithm::in_network, n, c.levels[0])).epsilon(1e-12));
      const Layout apart{.tp = 8, .dp = n, .collectives = Collectives::tree};  // one rank of the group per node
      const bool tree = op == CollectiveOp::all_reduce;
      const auto between = tree ? CollectiveAlgorithm::tree_pipelined : CollectiveAlgorithm::ring;
      CHECK(seconds(op, apart, c, m) == Approx(one(op, between, n, c.levels[1])).epsilon(1e-12));
    }
}

TEST_CASE("the fastest algorithm is chosen per level for the size of the message", "[cluster][collectives]") {
  // Between 16 nodes a ring takes 30 latencies and 2 x 15/16 of a share, a tree 8 latencies and 2 shares: equal for
  // shares of 176 x latency x bandwidth.
  const auto share = static_cast<Count>(176 * wait_far * far);
  const Cluster c = nodes();
  for (const Count part : {1, 2}) {
    const Count shorter = 8 * share / 2 / part, longer = 8 * share * 2 * part;
    for (const auto& [bytes, least] : {std::pair{shorter, Collectives::tree}, {longer, Collectives::ring}})
      for (const Collectives other : all_ways)
        CHECK((seconds(CollectiveOp::all_reduce, replicas_of(128, Collectives::fastest), c, bytes) ==
               seconds(CollectiveOp::all_reduce, replicas_of(128, other), c, bytes)) ==
              (other == least || other == Collectives::fastest ||
               (other == Collectives::in_network && least == Collectives::ring)));
  }
  // Two messages of half the length favor a tree. Links at half bandwidth act as if messages were twice as long.
  const Count both = 8 * share * 3 / 2;
  const auto is_tree = [&](Count messages, double link) {
    return seconds(CollectiveOp::all_reduce, replicas_of(128, Collectives::fastest), c, both, link, messages) ==
           seconds(CollectiveOp::all_reduce, replicas_of(128, Collectives::tree), c, both, link, messages);
  };
  CHECK_FALSE(is_tree(1, 1));
  CHECK(is_tree(2, 1));
  CHECK_FALSE(is_tree(2, 0.5));
}

TEST_CASE("'fastest' is never slower than any algorithm, and more ranks or bytes never take less time",
          "[cluster][collectives]") {
  Cases cases(61);
  for (int i = 0; i < 2000; ++i) {
    const Cluster c = nodes(cases.coin(), cases.coin());
    const CollectiveOp op = collectives[static_cast<std::size_t>(cases.below(3))];
    const Count bytes = Count{1} << cases.below(30), inner = Count{1} << cases.below(4);
    const Count outer = inner == 8 ? 1 + cases.below(40) : 1;
    const auto time = [&](Collectives by, Count n, Count b) { return seconds(op, replicas_of(n, by), c, b); };
    const Count n = inner * outer, more = inner == 8 ? n + 8 : 2 * n;
    INFO(n << " ranks, " << bytes << " bytes");
    for (const Collectives by : all_ways) {
      REQUIRE(time(Collectives::fastest, n, bytes) <= time(by, n, bytes));
      REQUIRE(time(by, n, bytes) <= time(by, more, bytes) * (1 + 1e-12));
      REQUIRE(time(by, n, bytes) <= time(by, n, bytes + 1 + cases.below(1000)));
    }
  }
}

// Excludes automatic schedules, whose order depends on times.
TEST_CASE("no step is slower with the fastest collectives than with another algorithm", "[cluster][collectives]") {
  Cases cases(62);
  for (int i = 0; i < 500; ++i) {
    ClusterCase c = cases.any();
    if (automatic(c.layout.schedule) && c.layout.pp > 1) continue;
    c.layout.collectives = Collectives::ring;
    const Partition layers = train(c.arch, c.plan, c.layout, c.cluster).partition;
    for (Count q = 0; q < layers.size(); ++q) c.layout.stage_layers.push(layers[q].layers());
    const auto step = [&](Collectives by) {
      c.layout.collectives = by;
      return train(c.arch, c.plan, c.layout, c.cluster).bound.total().value;
    };
    INFO(i << ": " << text_of(c.layout));
    const double fastest = step(Collectives::fastest);
    for (const Collectives by : all_ways) REQUIRE(fastest <= step(by) * (1 + 1e-12));
  }
}
