// Tokens routed to experts on a limited number of nodes.

#include <bit>

#include "calc/links/route.hpp"
#include "calc/step/assemble.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Mean number of nodes that hold a set of k experts, over all such sets on `allowed` nodes with `each` experts.
double counted(int allowed, int each, int k) {
  double sets = 0, nodes = 0;
  for (unsigned set = 0; set < 1u << (allowed * each); ++set) {
    if (std::popcount(set) != k) continue;
    ++sets;
    for (int n = 0; n < allowed; ++n) nodes += (set >> (n * each) & ((1u << each) - 1)) != 0 ? 1 : 0;
  }
  return nodes / sets;
}

constexpr double nvlink = 160e9, infiniband = 50e9;  // DeepSeek-V3 (arXiv:2412.19437), 3.2.2
/// Nodes of 8 and links without latency.
Cluster h800() {
  Cluster c = device(1e12, 1e11, nvlink, 0);
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(infiniband), .latency = {}});
  return c;
}

constexpr ExpertRouting v3{.top_k = 8, .experts = 256};
double seconds(const Cluster& c, const Layout& l, const ExpertRouting& r, Bytes bytes, Count messages = 1) {
  const CollectiveCall e{
      .group = Group::expert, .op = CollectiveOp::all_to_all, .messages = messages, .bytes = bytes, .routing = r};
  return communication_time(e, l, c).total().value;
}
Cluster only(Cluster c, std::size_t level) {
  c.levels[1 - level].bandwidth = BytesPerSecond(1e300);
  return c;
}

}  // namespace

TEST_CASE("a token's expected number of nodes is the mean over all choices of its experts", "[cluster][nodes]") {
  for (const int nodes : {1, 2, 4})
    for (const int each : {1, 2, 4})
      for (int k = 1; k <= nodes * each && k <= 6; ++k)
        for (int most = 1; most <= nodes; ++most) {
          if (most * each < k) continue;
          INFO(nodes << " nodes of " << each << ", " << k << " experts on at most " << most);
          const ExpertRouting r{.top_k = k, .experts = Count{nodes} * each};
          CHECK(expected_nodes(r, nodes, most) == Approx(counted(most, each, k)).epsilon(1e-12));
          CHECK(expected_nodes(r, nodes, 0) == expected_nodes(r, nodes, nodes));
        }
}

TEST_CASE("a token is sent to at most the allowed number of nodes, and to at most one node per expert",
          "[cluster][nodes]") {
  for (const Count most : {1, 2, 3, 4, 8, 99}) {
    const double x = expected_nodes(v3, 8, most);
    CHECK(x <= static_cast<double>(std::min<Count>(most, 8)));
    CHECK(x <= 8);
    CHECK(x >= 1);
  }
  CHECK(expected_nodes(v3, 8, 1) == 1);
  CHECK(expected_nodes({.top_k = 128, .experts = 256}, 8, 4) == 4);  // all experts of four nodes
}

TEST_CASE("DeepSeek-V3's tokens cross the network once per node and are forwarded inside it", "[cluster][nodes]") {
  // 4,096 tokens of 7,168 bf16 values, each sent to 8 of 256 experts, on 64 ranks in 8 nodes: 32 experts per node, 128
  // on 4 nodes.
  constexpr Count tokens = 4096, token = 7168 * 2;
  const Bytes m(tokens * 8 * token);
  double missed = 1;  // probability that all 8 experts miss a node: C(96, 8) / C(128, 8)
  for (int i = 0; i < 8; ++i) missed *= (96.0 - i) / (128.0 - i);
  const double reached = 4 * (1 - missed);
  CHECK(reached == Approx(3.63).margin(0.005));
  const Layout free{.ep = 64, .dp = 64}, limited{.ep = 64, .expert_nodes = 4, .dp = 64};
  const double all = static_cast<double>(m.value), once = static_cast<double>(tokens * token);
  const auto bytes = [&](const Layout& l, std::size_t level) {
    return seconds(only(h800(), level), l, v3, m) * (level == 0 ? nvlink : infiniband);
  };
  CHECK(bytes(free, 1) == Approx(7.0 / 8 * all).epsilon(1e-12));
  CHECK(bytes(free, 0) == Approx(7.0 / 64 * all).epsilon(1e-12));
  CHECK(bytes(limited, 1) == Approx(7.0 / 8 * reached * once).epsilon(1e-12));
  CHECK(bytes(limited, 1) <= 7.0 / 8 * 4 * once);
  CHECK(bytes(limited, 0) == Approx(7.0 / 8 * all).epsilon(1e-12));
}

TEST_CASE("with one copy per rank, a token is sent once to each rank that has any of its experts", "[cluster][nodes]") {
  // 100 tokens of 4,096 bytes, each sent to 8 of 128 experts on 2 ranks. All 8 are on one rank with probability 2 C(64,
  // 8) / C(128, 8).
  const ExpertRouting r{.top_k = 8, .experts = 128};
  double on_one = 1;
  for (int i = 0; i < 8; ++i) on_one *= (64.0 - i) / (128.0 - i);
  const double once = 100 * 4096, reached = 2 * (1 - on_one);
  const auto bytes = [&](const Layout& l) { return seconds(only(h800(), 0), l, r, Bytes(100 * 8 * 4096)) * nvlink; };
  CHECK(bytes({.ep = 2, .dp = 2}) == Approx(0.5 * 8 * once).epsilon(1e-12));
  CHECK(bytes({.ep = 2, .once_per_rank = true, .dp = 2}) == Approx(0.5 * reached * once).epsilon(1e-12));
}

TEST_CASE("with one copy per rank, a token crosses the network once per node and is forwarded to ranks",
          "[cluster][nodes]") {
  // DeepEP's normal kernels: 100 tokens, each sent to 8 of 256 experts on 64 ranks in 8 nodes.
  const double once = 100 * 4096;
  const ExpertRouting r{.top_k = 8, .experts = 256};
  const Layout l{.ep = 64, .once_per_rank = true, .dp = 64};
  const auto bytes = [&](std::size_t level) {
    return seconds(only(h800(), level), l, r, Bytes(100 * 8 * 4096)) * (level == 0 ? nvlink : infiniband);
  };
  CHECK(bytes(1) == Approx(7.0 / 8 * expected_nodes(r, 8, 0) * once).epsilon(1e-12));
  CHECK(bytes(0) == Approx(7.0 / 8 * expected_nodes(r, 64, 0) * once).epsilon(1e-12));
}

TEST_CASE("with four nodes, NVLink becomes the bottleneck at 13 or more experts per token (3.2 per node)",
          "[cluster][nodes]") {
  // DeepSeek-V3 (arXiv:2412.19437), 3.2.2: NVLink has 3.2 times the bandwidth of InfiniBand, so 4 nodes x 3.2 experts
  // cost no more. A token uses every expert of its 4 nodes: 4 copies between nodes, K inside, equal at K = 12.8.
  const auto takes_longer = [&](Count top_k, std::size_t level) {
    const ExpertRouting r{.top_k = top_k, .experts = top_k * 2};  // all experts of 4 of the 8 nodes
    const Layout l{.ep = 64, .expert_nodes = 4, .dp = 64};
    const Bytes m(1000 * top_k);
    return seconds(h800(), l, r, m) == seconds(only(h800(), level), l, r, m);
  };
  CHECK(takes_longer(12, 1));
  CHECK_FALSE(takes_longer(12, 0));
  CHECK(takes_longer(16, 0));
  CHECK_FALSE(takes_longer(16, 1));
}

TEST_CASE("a rank sends one message to each node, and inside a node one to each neighbor", "[cluster][nodes]") {
  Cluster c = h800();
  c.levels[0].latency = Seconds(1e-6);
  c.levels[1].latency = Seconds(5e-6);
  const Layout l{.ep = 64, .expert_nodes = 4, .dp = 64};
  CHECK(seconds(c, l, v3, {}) == Approx(std::max(7 * 1e-6, 7 * 5e-6)).epsilon(1e-12));
  CHECK(seconds(c, {.ep = 64, .dp = 64}, v3, {}) == Approx(56 * 5e-6).epsilon(1e-12));
}

TEST_CASE("a node limit affects neither traffic inside a node nor messages without routing", "[cluster][nodes]") {
  const Bytes m(1 << 20);
  for (const Count most : {1, 4})
    CHECK(seconds(h800(), {.ep = 8, .expert_nodes = most, .dp = 64}, v3, m) ==
          seconds(h800(), {.ep = 8, .dp = 64}, v3, m));
  CHECK(seconds(h800(), {.ep = 64, .expert_nodes = 4, .dp = 64}, {}, m) ==
        seconds(h800(), {.ep = 64, .dp = 64}, {}, m));
}

TEST_CASE("a higher node limit increases the time on the network", "[cluster][nodes]") {
  const Cluster network = only(h800(), 1);
  double last = 0;
  for (Count most = 1; most <= 8; ++most) {
    const double now = seconds(network, {.ep = 64, .expert_nodes = most, .dp = 64}, v3, Bytes(1 << 20));
    CHECK(now > last);
    last = now;
  }
  CHECK(last < seconds(network, {.ep = 64, .dp = 64}, v3, Bytes(1 << 20)));  // unlimited: several copies to one node
}

TEST_CASE("a node limit too low for the experts of one token is rejected", "[cluster][nodes]") {
  Moe moe;
  moe.experts = 16;
  moe.top_k = 4;  // 2 nodes of 8: 8 experts each; 8 nodes of 8: 2 each
  CHECK(holds_choices(h800(), {.ep = 16, .expert_nodes = 1, .dp = 64}, moe));
  CHECK_FALSE(holds_choices(h800(), {.tp = 4, .ep = 16, .etp = 4, .expert_nodes = 1, .dp = 64}, moe));
  CHECK(holds_choices(h800(), {.tp = 4, .ep = 16, .etp = 4, .expert_nodes = 2, .dp = 64}, moe));
}

TEST_CASE("only expert collectives have token routing", "[cluster][nodes]") {
  Arch a = even_moe();
  a.moe.layers = LayerSet::all(a.layers);
  Plan p;
  p.seq = 64;
  p.global_batch = 16;
  const Prices prices = price(a, p, {.tp = 2, .sp = true, .cp = 2, .ep = 4, .dp = 4}, h800().device);
  int routed = 0;
  for (const LayerPrice& row : prices.rows)
    for (const PassPrice* pass : {&row.forward, &row.backward_input})
      for (const CollectiveCall& e : pass->collectives) {
        const bool experts = e.group == Group::expert;
        routed += experts ? 1 : 0;
        CHECK(e.routing == (experts ? ExpertRouting{a.moe.top_k, a.moe.experts} : ExpertRouting{}));
      }
  CHECK(routed == 2);
}
