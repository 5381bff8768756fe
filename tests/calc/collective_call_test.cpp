// Messages of a group, and the link that carries them.

#include "calc/links/collective_call.hpp"

#include "calc/links/route.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Pricing bf16{};
const Link one_link{.ranks = 8, .bandwidth = BytesPerSecond(1000), .latency = Seconds(0.5)};

double seconds(const CollectiveCalls& all, Count ranks) {
  Seconds s;
  for (const CollectiveCall& e : all) s += communication_time(e, ranks, one_link).total();
  return s.value;
}
double forward_seconds(const Collective& c) {
  CollectiveCalls e;
  add_forward(e, c, bf16);
  return seconds(e, c.ranks);
}
double backward_seconds(const Collective& c) {
  CollectiveCalls e;
  add_backward(e, c, bf16);
  return seconds(e, c.ranks);
}

}  // namespace

TEST_CASE("collectives take the time of a ring at one-way link bandwidth", "[cost][exchange]") {
  const Collective c{.forward_on = true,
                     .backward_on = true,
                     .regather = true,
                     .forward = CollectiveOp::all_gather,
                     .backward = CollectiveOp::reduce_scatter,
                     .elements = 400,
                     .ranks = 4};
  // 800 bytes: 3 x 0.5 + 3/4 x 0.8
  CHECK(forward_seconds(c) == Approx(2.1));
  CHECK(backward_seconds(c) == Approx(4.2));  // plus the re-gather
  Collective sum{.forward_on = true, .elements = 400, .ranks = 4};
  CHECK(forward_seconds(sum) == Approx(6 * 0.5 + 2 * 0.75 * 0.8));
  CHECK(backward_seconds(sum) == 0);
  sum.number_bytes = 4;
  sum.repeats = 3;
  CHECK(forward_seconds(sum) == Approx(3 * (3 + 2 * 0.75 * 1.6)));
}

TEST_CASE("collectives with the same operation, group and size are merged", "[cost][exchange]") {
  CollectiveCalls all;
  for (const Count elements : {100, 300, 100})
    add_forward(all, {.forward_on = true, .elements = elements, .ranks = 4}, bf16);
  REQUIRE(all.end() - all.begin() == 2);
  CHECK(all.begin()->messages == 2);
  CHECK(all.begin()->bytes == Bytes(400));
  CHECK((all.begin() + 1)->messages == 1);
  CHECK((all.begin() + 1)->bytes == Bytes(600));
}

namespace {
/// Nodes of 8, racks of 64, and a network of any size.
Cluster three_levels() {
  Cluster c = cluster({}, {.ranks = 8, .bandwidth = BytesPerSecond(1000), .latency = {}});
  c.levels.push({.ranks = 64, .bandwidth = BytesPerSecond(100), .latency = {}});
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(10), .latency = {}});
  return c;
}
}  // namespace

TEST_CASE("a group communicates over the innermost level that connects all its ranks", "[contract][cluster]") {
  const Cluster c = three_levels();
  const auto bandwidth = [&](const Layout& l, Group g) { return group_link(c, l, g).bandwidth.value; };
  CHECK(bandwidth({.tp = 8}, Group::tensor) == 1000);
  CHECK(bandwidth({.tp = 16}, Group::tensor) == 100);
  CHECK(bandwidth({.tp = 128}, Group::tensor) == 10);
  // Data-parallel neighbors are tp devices apart: 8 ranks at a stride of 8 span 57 devices, 9 span 65.
  CHECK(bandwidth({.tp = 8, .dp = 8}, Group::data) == 100);
  CHECK(bandwidth({.tp = 8, .dp = 9}, Group::data) == 10);
  CHECK(bandwidth({.tp = 2, .dp = 4}, Group::data) == 1000);
}

TEST_CASE("a group that no level connects has no link", "[contract][cluster]") {
  const Cluster c = cluster({}, one_link);
  CHECK(group_link(c, {.tp = 8}, Group::tensor).bandwidth.value == 1000);
  CHECK(group_link(c, {.tp = 16}, Group::tensor).bandwidth.value == 0);
}

TEST_CASE("a route gives the number of ranks that communicate on each level", "[contract][cluster]") {
  const Cluster c = three_levels();
  const auto spread = [&](const Layout& l, Group g) {
    const Route r = route(c, l, g);
    return std::array{r[0].parts, r[1].parts, r[2].parts, r[3].parts};
  };
  using Ranks = std::array<Count, 4>;
  CHECK(spread({.tp = 8}, Group::tensor) == Ranks{8, 1, 1, 1});
  CHECK(spread({.tp = 32}, Group::tensor) == Ranks{8, 4, 1, 1});
  CHECK(spread({.tp = 8, .dp = 64}, Group::data) == Ranks{1, 8, 8, 1});
  CHECK(spread({.tp = 2, .dp = 64}, Group::data) == Ranks{4, 8, 2, 1});
}

TEST_CASE("a run's device count is the product of its parallel degrees", "[contract][layout]") {
  const Layout l{.tp = 8, .cp = 2, .ep = 4, .etp = 2, .pp = 3, .dp = 5};
  CHECK(devices(l) == 8 * 2 * 3 * 5);
  CHECK(replica_devices(l) == 8 * 2 * 3);
  CHECK(ranks(l, Group::expert_data) == 8 * 2 * 5 / (4 * 2));
  CHECK(lines(l, Group::context).inner.stride == 8);
  CHECK(lines(l, Group::pipeline).inner.stride == 80);
  CHECK(ranks(l, Group::data) == 2 * 5);  // context-parallel ranks hold the same weights as replicas
  CHECK(lines(l, Group::data).inner.stride == 8);
  CHECK(lines(l, Group::data).outer.stride == 16);
}
