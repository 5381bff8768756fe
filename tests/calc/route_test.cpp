// Groups of ranks that do not divide evenly over nodes.

#include "calc/links/route.hpp"

#include <map>

#include "calc/step/assemble.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr double near = 400, far = 50;
constexpr Count message = 1 << 20;

/// Nodes and a network around them, without latency.
Cluster in_nodes(Count node) {
  Cluster c = device(1e12, 1e11, near, 0);
  c.levels[0].ranks = node;
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(far), .latency = {}});
  return c;
}

double seconds(CollectiveOp op, Group g, const Layout& l, const Cluster& c) {
  return communication_time({.group = g, .op = op, .messages = 1, .bytes = Bytes(message)}, l, c).total().value;
}
/// Seconds on the network, relative to the time of a whole message.
double on_network(CollectiveOp op, Group g, const Layout& l, Cluster c) {
  c.levels[0].bandwidth = BytesPerSecond(1e300);
  return seconds(op, g, l, c) * far / static_cast<double>(message);
}

using Devices = std::vector<Count>;
/// The devices of all groups of one parallel dimension, enumerated along the axes of the rank order.
std::vector<Devices> placed(const Layout& l, Group g) {
  const Lines all = lines(l, g);
  std::vector<bool> taken(static_cast<std::size_t>(devices(l)));
  std::vector<Devices> groups;
  for (Count first = 0; first < devices(l); ++first) {
    if (taken[static_cast<std::size_t>(first)]) continue;
    Devices& group = groups.emplace_back();
    for (Count j = 0; j < all.outer.ranks; ++j)
      for (Count i = 0; i < all.inner.ranks; ++i) {
        group.push_back(first + i * all.inner.stride + j * all.outer.stride);
        taken[static_cast<std::size_t>(group.back())] = true;
      }
  }
  return groups;
}

/// Number of a group's ranks in each node.
std::map<Count, Count> by_node(const Devices& group, Count node) {
  std::map<Count, Count> all;
  for (const Count d : group) ++all[d / node];
  return all;
}
Count fewest_in_a_node(const Devices& group, Count node) {
  Count fewest = devices({.dp = 1 << 30});
  for (const auto& [at, n] : by_node(group, node)) fewest = std::min(fewest, n);
  return fewest;
}

/// Layouts with groups in every position: any ranks, any order of the axes.
class Layouts {
 public:
  explicit Layouts(unsigned seed) : random_(seed) {}
  Layout any() {
    for (;;) {
      Layout l{.tp = to(9), .cp = to(4), .ep = to(6), .etp = to(3), .pp = to(4), .dp = to(20)};
      std::shuffle(l.order.begin(), l.order.end(), random_);
      if (mul(l.tp, l.cp, l.dp) % mul(l.ep, l.etp) == 0) return l;
    }
  }
  Count to(Count most) { return 1 + static_cast<Count>(random_() % static_cast<unsigned>(most)); }

 private:
  std::mt19937 random_;
};

constexpr std::array kinds{Group::tensor,      Group::context,      Group::expert,        Group::expert_tensor,
                           Group::pipeline,    Group::data,         Group::shard,         Group::replica,
                           Group::expert_data, Group::expert_shard, Group::expert_replica};

}  // namespace

TEST_CASE("the groups of each parallel dimension partition the devices", "[cluster][route]") {
  Layouts layouts(1);
  for (int i = 0; i < 200; ++i) {
    const Layout l = layouts.any();
    for (const Group g : kinds)
      for (const Devices& group : placed(l, g)) {
        CHECK(static_cast<Count>(group.size()) == ranks(l, g));
        CHECK(group.back() < devices(l));
      }
  }
}

TEST_CASE("a route describes the group with the fewest ranks in a node", "[cluster][route]") {
  Layouts layouts(2);
  int uneven = 0;
  for (int i = 0; i < 2000; ++i) {
    const Layout l = layouts.any();
    const Count node = layouts.to(12);
    for (const Group g : kinds) {
      Count fewest = ranks(l, g), parts = 1, most = 0;
      for (const Devices& group : placed(l, g)) {
        const auto nodes = by_node(group, node);
        const Count least = fewest_in_a_node(group, node), n = static_cast<Count>(nodes.size());
        uneven += n > 1 && least * n != ranks(l, g) ? 1 : 0;
        if (n == 1 || least > fewest || (least == fewest && n < parts)) continue;
        if (least < fewest || n > parts) most = 0;
        fewest = least;
        parts = n;
        for (const auto& [at, held] : nodes) most = std::max(most, held);
      }
      INFO(text_of(l) << " node " << node << " " << group_names[static_cast<std::size_t>(g)]);
      const Route r = route(in_nodes(node), l, g);
      CHECK(r[1].parts == parts);
      CHECK(r[1].most == ranks(l, g));
      if (parts == 1) continue;
      CHECK(r[1].fewest == fewest);
      CHECK(r[0] == Meeting{most, 1, most});
      CHECK(nodes(r) == parts);
    }
  }
  CHECK(uneven > 10000);
}

TEST_CASE("a route with a long repeating pattern of positions in nodes counts every node and rank",
          "[cluster][route]") {
  const Cluster c = in_nodes(8);
  // 1,000 ranks at a stride of 3: 0, 3, 6 | 9, 12, 15 | 18, 21, then repeating. 8 ranks per 3 nodes: 375 nodes, the
  // last full.
  CHECK(route(c, {.tp = 3, .dp = 1000}, Group::data)[1] == Meeting{375, 2, 1000});
  // 8,001 neighbors: 1,000 nodes and one rank
  CHECK(route(c, {.dp = 8001}, Group::data)[1] == Meeting{1001, 1, 8001});
}

TEST_CASE("with three network levels, a route counts the parts connected at each level", "[cluster][route]") {
  Cluster c = in_nodes(8);
  c.levels[1].ranks = 32;
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(1), .latency = {}});
  // 70 = 32 + 32 + 6: two racks of four nodes, and part of a node.
  CHECK(route(c, {.dp = 70}, Group::data) == Route{{{8, 1, 8}, {4, 8, 32}, {3, 6, 70}}});
  // 2 groups of 35: 32 + 3, and 29 + 6. The second begins within a node: 5 + 8 + 8 + 8, then 6.
  CHECK(route(c, {.pp = 2, .dp = 35}, Group::data) == Route{{{8, 1, 8}, {4, 8, 32}, {2, 3, 35}}});
}

TEST_CASE("a gather or scatter takes the send time of the ranks with the fewest neighbors in their node",
          "[cluster][route]") {
  // 9 = 8 + 1: the single rank sends 8/9 of its sum and keeps a ninth. 12 = 8 + 4: each of 4 sends a quarter of 8/12.
  const std::array<std::pair<Count, double>, 4> cases{
      {{9, 8.0 / 9}, {10, 8.0 / 10 / 2}, {12, 8.0 / 12 / 4}, {16, 1.0 / 16}}};
  for (const auto& [n, share] : cases)
    for (const CollectiveOp op : {CollectiveOp::reduce_scatter, CollectiveOp::all_gather}) {
      INFO(n);
      CHECK(on_network(op, Group::data, {.dp = n}, in_nodes(8)) == Approx(share).epsilon(1e-12));
    }
}

TEST_CASE("an all-reduce over two nodes is as slow as the node with the fewest ranks", "[cluster][route]") {
  // Two nodes: 2 (1/2) M over the links of the smaller node.
  for (const auto& [n, fewest] : std::array<std::pair<Count, double>, 4>{{{9, 1}, {12, 4}, {15, 7}, {16, 8}}}) {
    INFO(n);
    CHECK(on_network(CollectiveOp::all_reduce, Group::data, {.dp = n}, in_nodes(8)) ==
          Approx(1 / fewest).epsilon(1e-12));
  }
  // At a stride of 8 each rank is in a separate node; at a stride of 4 three ranks are split 2 + 1.
  CHECK(on_network(CollectiveOp::all_reduce, Group::data, {.tp = 8, .dp = 3}, in_nodes(8)) == Approx(4.0 / 3));
  CHECK(on_network(CollectiveOp::all_reduce, Group::data, {.tp = 4, .pp = 2, .dp = 3}, in_nodes(8)) == Approx(1));
  CHECK(on_network(CollectiveOp::all_reduce, Group::data, {.dp = 73}, in_nodes(72)) == Approx(1));
}

TEST_CASE("in an all-to-all a rank sends a separate part to every other rank over its own link", "[cluster][route]") {
  // 10 = 8 + 2, 12 = 8 + 4, 20 = 8 + 8 + 4, 16 = 8 + 8: a rank of the smallest part sends to all others.
  for (const auto& [n, far_off] :
       std::array<std::pair<Count, double>, 5>{{{9, 8}, {10, 8}, {12, 8}, {20, 16}, {16, 8}}}) {
    INFO(n);
    CHECK(on_network(CollectiveOp::all_to_all, Group::expert, {.ep = n, .dp = n}, in_nodes(8)) ==
          Approx(far_off / static_cast<double>(n)).epsilon(1e-12));
  }
}

TEST_CASE("a group that crosses nodes does not use the link inside a node", "[cluster][route]") {
  const Cluster c = in_nodes(8);
  const auto bandwidth = [&](const Layout& l, Group g) { return group_link(c, l, g).bandwidth.value; };
  CHECK(bandwidth({.tp = 3, .dp = 2}, Group::tensor) == near);  // 6 devices, one node
  CHECK(bandwidth({.tp = 3, .dp = 8}, Group::tensor) == far);   // 6, 7, 8
  CHECK(bandwidth({.tp = 6, .dp = 2}, Group::tensor) == far);
  CHECK(bandwidth({.tp = 7, .dp = 2}, Group::tensor) == far);
  CHECK(bandwidth({.tp = 4, .dp = 6}, Group::tensor) == near);
  CHECK(bandwidth({.ep = 6, .dp = 12}, Group::expert) == far);
  CHECK(on_network(CollectiveOp::all_gather, Group::tensor, {.tp = 3, .dp = 8}, c) == Approx(2.0 / 3));
  CHECK(on_network(CollectiveOp::all_gather, Group::tensor, {.tp = 3, .dp = 2}, c) < 1e-200);
  CHECK(outermost_level(c, {.tp = 3, .dp = 8}, Group::tensor) == 1);
  CHECK(outermost_level(c, {.tp = 3, .dp = 2}, Group::tensor) == 0);
}

TEST_CASE("if any group of a parallel dimension crosses nodes, all its groups use the network link",
          "[cluster][route]") {
  Layouts layouts(3);
  for (int i = 0; i < 1000; ++i) {
    const Layout l = layouts.any();
    const Count node = layouts.to(12);
    for (const Group g : kinds) {
      bool inside = true;
      for (const Devices& group : placed(l, g)) inside = inside && by_node(group, node).size() == 1;
      INFO(text_of(l) << " node " << node << " " << group_names[static_cast<std::size_t>(g)]);
      CHECK(is_inside(in_nodes(node), l, g) == inside);
      CHECK(group_link(in_nodes(node), l, g).bandwidth.value == (inside ? near : far));
      CHECK((outermost_level(in_nodes(node), l, g) == 0) == inside);
    }
  }
}

TEST_CASE("no collective is faster than its most loaded rank can send over its own link", "[cluster][route]") {
  // A node that holds k of a group's n ranks must send (n - k)/n of an all-gather or reduce-scatter message, the whole
  // message of an all-reduce, and k (n - k)/n of an all-to-all. Its k links carry these bytes.
  Layouts layouts(4);
  for (int i = 0; i < 1000; ++i) {
    Layout l = layouts.any();
    const Count node = layouts.to(12);
    const Group g = kinds[static_cast<std::size_t>(layouts.to(kinds.size()) - 1)];
    const auto n = static_cast<double>(ranks(l, g));
    for (const Devices& group : placed(l, g)) {
      const auto k = static_cast<double>(fewest_in_a_node(group, node));
      if (k == n) continue;
      INFO(text_of(l) << " node " << node << " " << group_names[static_cast<std::size_t>(g)]);
      for (const Collectives c : {Collectives::ring, Collectives::tree, Collectives::fastest}) {
        l.collectives = c;
        const auto takes = [&](CollectiveOp op) { return on_network(op, g, l, in_nodes(node)) * (1 + 1e-12); };
        CHECK(takes(CollectiveOp::all_gather) >= (n - k) / n / k);
        CHECK(takes(CollectiveOp::reduce_scatter) >= (n - k) / n / k);
        CHECK(takes(CollectiveOp::all_reduce) >= 1 / k);
        CHECK(takes(CollectiveOp::all_to_all) >= (n - k) / n);
        CHECK(takes(CollectiveOp::p2p) >= 1);
      }
    }
  }
}
