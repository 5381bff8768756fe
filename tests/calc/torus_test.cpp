// Collective times on a torus compared with messages simulated link by link, and with published shapes and times.

#include "calc/links/torus.hpp"

#include <map>

#include "calc/step/assemble.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

using Kind = CollectiveOp;

Torus torus(const std::vector<TorusAxis>& axes) {
  Torus t;
  for (const TorusAxis& a : axes) t.push(a);
  return t;
}
Torus rings(const std::vector<Count>& sides) {
  Torus t;
  for (const Count n : sides) t.push({n, 1, true});
  return t;
}
std::vector<Count> sides(const Torus& t) {
  std::vector<Count> all;
  for (const TorusAxis& a : t) all.push_back(a.ranks);
  std::sort(all.begin(), all.end());
  return all;
}
Count closed(const Torus& t) {
  return std::count_if(t.begin(), t.end(), [](const TorusAxis& a) { return a.closed; });
}

/// TPU v5e: a pod of 16 x 16 chips with 4 links of 45 GB/s one way each.
Link v5e() { return {.ranks = 256, .bandwidth = BytesPerSecond(180e9), .latency = {}, .torus = rings({16, 16})}; }
/// TPU v4: 16 x 16 x 16 chips with 6 links of 45 GB/s, in cubes of 4 x 4 x 4.
Link v4() {
  return {.ranks = 4096, .bandwidth = BytesPerSecond(270e9), .latency = {}, .torus = rings({16, 16, 16}), .wraps = 4};
}
Cluster of(const Link& l) { return cluster({}, l); }

double seconds(Kind op, Bytes m, Count ranks, const Link& link) {
  return collective_time(op, default_algorithm(op), m, ranks, joining_ranks(link, ranks)).value;
}

/// Load of each link on an axis, by its source position and direction.
using Carried = std::map<std::pair<Count, Count>, double>;
void walk(Count from, Count to, Count step, double share, const TorusAxis& a, Carried& carried) {
  for (Count at = from; at != to; at = (at + step + a.ranks) % a.ranks) carried[{at, step}] += share;
}
/// Sends one unit the shorter way round; at exactly half a ring, half of the unit in each direction.
void send(Count from, Count to, const TorusAxis& a, Carried& carried) {
  const Count up = (to - from + a.ranks) % a.ranks;
  if (!a.closed) return walk(from, to, to > from ? 1 : -1, 1, a, carried);
  if (2 * up != a.ranks) return walk(from, to, 2 * up < a.ranks ? 1 : -1, 1, a, carried);
  walk(from, to, 1, 0.5, a, carried);
  walk(from, to, -1, 0.5, a, carried);
}

/// Maximum link load on an axis if each rank sends 1 to each position, including its own.
double busiest_link(const TorusAxis& a) {
  Carried carried;
  for (Count from = 0; from < a.ranks; ++from)
    for (Count to = 0; to < a.ranks; ++to) send(from, to, a, carried);
  double most = 0;
  for (const auto& [link, all] : carried) most = std::max(most, all);
  return most;
}

}  // namespace

TEST_CASE("a message of an all-to-all over 256 TPU v5e chips crosses eight links on average", "[torus]") {
  // A ring of 16 is (2 (1 + ... + 7) + 8) / 16 = 4 steps wide on average, and two rings are 8. For 1 GiB each rank
  // sends 8 GiB over 4 links of 45 GB/s: 47.7 ms. A crossbar of 180 GB/s would take 255/256 GiB / 180 GB/s = 5.94 ms.
  const double gib = 1073741824.0;
  CHECK(seconds(Kind::all_to_all, Bytes(1 << 30), 256, v5e()) == Approx(8 * gib / 180e9).epsilon(1e-12));
  CHECK(seconds(Kind::all_to_all, Bytes(1 << 30), 256, v5e()) == Approx(0.0477).epsilon(1e-3));
  // Rings use both axes in both directions: V / (W n_axes) of "How to Scale Your Model", W = 90 GB/s, except for a
  // rank's own part.
  CHECK(seconds(Kind::all_gather, Bytes(1 << 30), 256, v5e()) == Approx(255.0 / 256 * gib / (2 * 90e9)).epsilon(1e-12));
  CHECK(seconds(Kind::all_reduce, Bytes(1 << 30), 256, v5e()) == Approx(255.0 / 128 * gib / (2 * 90e9)).epsilon(1e-12));
  // One chip to its neighbor: one link.
  CHECK(seconds(Kind::p2p, Bytes(1 << 30), 2, v5e()) == Approx(gib / 45e9).epsilon(1e-12));
}

TEST_CASE("the load of an all-to-all matches the simulated load of the busiest link", "[torus]") {
  // Along an axis of m positions a rank sends M/m to each. Groups on every s-th device share the links of s groups.
  for (const bool is_closed : {true, false})
    for (Count m = 2; m <= 17; ++m)
      for (const Count spacing : {1, 3}) {
        const TorusAxis a{m, spacing, is_closed};
        const double links = (is_closed ? 2.0 : 1.0) / static_cast<double>(spacing);
        CHECK(rank_links(torus({a})).value() == Approx(links));
        const double most = busiest_link(a) / static_cast<double>(m) * static_cast<double>(spacing);
        CHECK(all_to_all_load(torus({a})).value() == Approx(links * most).epsilon(1e-12));
      }
  // The busier of two axes: a ring of 16 takes 2 M / w, a line of 4 takes 1 M / w.
  CHECK(all_to_all_load(torus({{16, 1, true}, {4, 1, false}})) == Ratio{6, 1});
}

TEST_CASE("the bisection of a TPU v4 pod has 512 links in each direction", "[torus]") {
  // Half of the chips send half of their buffers to the other half: 2048 x M/2 over 2 x 16 x 16 links of 45 GB/s.
  // docs.cloud.google.com/tpu/docs/v4: 24 TB/s per pod, which corresponds to 46.9 GB/s per link.
  const double m = 1e9, across = 2048 * m / 2, links = 2 * 16 * 16;
  CHECK(seconds(Kind::all_to_all, Bytes(1'000'000'000), 4096, v4()) == Approx(across / (links * 45e9)).epsilon(1e-12));
}

TEST_CASE("slices have the shapes in Google's tables and wrap around on the same axes", "[torus]") {
  // docs.cloud.google.com/tpu/docs/v5e: slices of a pod; only an axis of 16 wraps around (scaling book, chapter 2).
  const std::vector<std::pair<Count, std::vector<Count>>> of_v5e{
      {4, {2, 2}}, {8, {2, 4}}, {16, {4, 4}}, {32, {4, 8}}, {64, {8, 8}}, {128, {8, 16}}, {256, {16, 16}}};
  for (const auto& [chips, shape] : of_v5e) {
    CHECK(sides(slice(v5e().torus, 0, chips)) == shape);
    CHECK(closed(slice(v5e().torus, 0, chips)) == std::count(shape.begin(), shape.end(), 16));
  }
  // docs.cloud.google.com/tpu/docs/v4 and v5p: 2x2x1, 2x2x2, 2x2x4, 2x4x4; tori from 4x4x4 up.
  const std::vector<std::pair<Count, std::vector<Count>>> of_v4{{4, {2, 2}},      {8, {2, 2, 2}},      {16, {2, 2, 4}},
                                                                {32, {2, 4, 4}},  {64, {4, 4, 4}},     {128, {4, 4, 8}},
                                                                {512, {8, 8, 8}}, {3072, {12, 16, 16}}};
  for (const auto& [chips, shape] : of_v4) {
    CHECK(sides(slice(v4().torus, 4, chips)) == shape);
    CHECK(closed(slice(v4().torus, 4, chips)) == (chips < 64 ? 0 : 3));
  }
}

TEST_CASE("groups occupy whole rings or blocks of a torus, and groups on the same axis share its links", "[torus]") {
  const auto part = [](const Link& l, const Layout& layout, Group g) { return joining_group(l, layout, g); };
  // 16 x 16 as tensor x data: a ring of 16 each, two links of 45 GB/s.
  const Layout square{.tp = 16, .dp = 16};
  for (const Group g : {Group::tensor, Group::data}) {
    CHECK(part(v5e(), square, g).torus == rings({16}));
    CHECK(part(v5e(), square, g).bandwidth.value == Approx(90e9));
  }
  // 4 x 64: squares of 2 x 2 without a ring, one link each way along an axis. Their replicas are 8 x 8 squares, and two
  // replica groups alternate along every ring.
  const Layout squares{.tp = 4, .dp = 64};
  CHECK(part(v5e(), squares, Group::tensor).torus == torus({{2, 1, false}, {2, 1, false}}));
  CHECK(part(v5e(), squares, Group::data).torus == torus({{8, 2, true}, {8, 2, true}}));
  CHECK(part(v5e(), squares, Group::data).bandwidth.value == Approx(4 * 45e9 / 2));
  // 8 chips form a 2 x 4 block without a ring, which is a single group.
  CHECK(part(v5e(), {.tp = 8}, Group::tensor).bandwidth.value == Approx(2 * 45e9));
  // PaLM on 3,072 of 4,096 TPU v4 (arXiv:2204.02311): 12 tensor-parallel ranks, 256 replicas.
  const Layout palm{.tp = 12, .dp = 256};
  CHECK(part(v4(), palm, Group::tensor).torus == rings({12}));
  CHECK(part(v4(), palm, Group::data).torus == rings({16, 16}));
  CHECK(part(v4(), palm, Group::data).bandwidth.value == Approx(4 * 45e9));
}

TEST_CASE("collectives of a layout use the torus links of their group", "[torus]") {
  const Cluster c = of(v5e());
  const Layout l{.tp = 16, .dp = 16};
  const auto time = [&](Kind op, Group g) {
    return communication_time({.group = g, .op = op, .messages = 1, .bytes = Bytes(1 << 30)}, l, c).total().value;
  };
  const double gib = 1073741824.0;
  CHECK(time(Kind::all_reduce, Group::tensor) == Approx(2 * 15.0 / 16 * gib / 90e9).epsilon(1e-12));
  CHECK(time(Kind::all_gather, Group::data) == Approx(15.0 / 16 * gib / 90e9).epsilon(1e-12));
  // One axis of 16: V / (4 W) with V = 16 GiB and W = 90 GB/s ("How to Scale Your Model", chapter 3).
  CHECK(time(Kind::all_to_all, Group::data) == Approx(16 * gib / (4 * 90e9)).epsilon(1e-12));
  CHECK(time(Kind::p2p, Group::data) == Approx(gib / 45e9).epsilon(1e-12));
}

TEST_CASE("torus latency counts the steps to the farthest rank", "[torus]") {
  Link slow = v5e();
  slow.latency = Seconds(1e-6);
  // A 16 x 16 torus takes 8 + 8 steps, since rings are used in both directions; 4 x 4 without rings takes 3 + 3.
  CHECK(seconds(Kind::all_gather, Bytes(), 256, slow) == Approx(16e-6));
  CHECK(seconds(Kind::all_reduce, Bytes(), 256, slow) == Approx(32e-6));
  CHECK(seconds(Kind::all_to_all, Bytes(), 16, slow) == Approx(6e-6));
  CHECK(seconds(Kind::p2p, Bytes(), 2, slow) == Approx(1e-6));
}

TEST_CASE("torus rules do not affect switched links, and switch algorithms are rejected on a torus", "[torus]") {
  CHECK(joining_group({.ranks = 8, .bandwidth = BytesPerSecond(1e9), .latency = {}}, {.tp = 8}, Group::tensor)
            .bandwidth.value == 1e9);
  CHECK(collective_flaw(Kind::all_reduce, CollectiveAlgorithm::tree, Bytes(1), 16, joining_ranks(v5e(), 16)) ==
        CollectiveFlaw::no_switch);
  CHECK_FALSE(collective_schedule(Kind::all_to_all, CollectiveAlgorithm::bruck, 16, rings({16})));
}
