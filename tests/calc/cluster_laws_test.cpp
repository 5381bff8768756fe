// Laws of a training step on a cluster, for every model, layout and link.

#include <algorithm>

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

TrainEstimate run(const ClusterCase& c) { return train(c.arch, c.plan, c.layout, c.cluster); }

void check_same(const TrainEstimate& a, const TrainEstimate& b) {
  for (std::size_t i = 0; i < part_count; ++i) {
    INFO(part_names[i]);
    CHECK(a.bound.parts[i].value == Approx(b.bound.parts[i].value).epsilon(1e-12).margin(1e-15));
  }
  CHECK(a.memory.peak == b.memory.peak);
  CHECK(a.memory.total == b.memory.total);
  CHECK(a.memory.weights == b.memory.weights);
  CHECK(a.memory.gradients == b.memory.gradients);
  CHECK(a.memory.optimizer == b.memory.optimizer);
  CHECK(a.memory.gathered == b.memory.gathered);
  CHECK(a.memory.buckets == b.memory.buckets);
  CHECK(a.memory.activations == b.memory.activations);
}

}  // namespace

TEST_CASE("no part of a step's time is negative, and removing pipeline stalls never lengthens a step",
          "[cluster][train]") {
  Cases cases(1);
  for (int i = 0; i < 2000; ++i) {
    const ClusterCase c = cases.any();
    INFO(i << ": " << text_of(c.layout));
    const StepTime t = run(c).bound;
    const double step = t.total().value;
    for (std::size_t p = 0; p < part_count; ++p) {
      INFO(part_names[p]);
      REQUIRE(t.parts[p].value >= 0);
    }
    REQUIRE(limits(t).total().value <= step * (1 + 1e-12));
    REQUIRE((t.compute + t.memory).value ==
            Approx((t[Part::matmul] + t[Part::attention] + t[Part::elementwise] + t[Part::optimizer]).value)
                .epsilon(1e-12));
  }
}

TEST_CASE("an invalid expert tensor-parallel degree is rejected, even for a model without experts",
          "[cluster][layout]") {
  CHECK(flaw(even(), {.etp = 2, .pp = 4}) == LayoutFlaw::expert_ranks);
  CHECK(flaw(even_moe(), {.etp = 2, .pp = 4}) == LayoutFlaw::expert_ranks);
  CHECK(flaw(even(), {.tp = 2, .etp = 2}) == LayoutFlaw::none);
}

TEST_CASE("all ZeRO stages cost the same if no two ranks share weights", "[cluster][train]") {
  Cases cases(2);
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = cases.any();
    c.layout.dp = c.layout.cp = c.layout.ep = 1;
    c.layout.etp = c.layout.hsdp = 0;
    c.plan.global_batch = mul(c.plan.micro_batch, 12);
    c.layout.zero = Zero::none;
    if (!Cases::sound(c)) continue;
    const TrainEstimate whole = run(c);
    for (const Zero z : {Zero::optimizer, Zero::gradients, Zero::weights}) {
      c.layout.zero = z;
      INFO(i << ": " << text_of(c.layout));
      check_same(run(c), whole);
    }
    const bool copies =
        c.layout.pp > 1 && c.layout.schedule == Schedule::dualpipe;  // the two copies reduce their gradients
    CHECK((whole.bound[Part::dp].value > 0) == copies);
  }
}

TEST_CASE("options of a parallel dimension with a single rank have no effect", "[cluster][train]") {
  Cases cases(7);
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = cases.any();
    ClusterCase same = c;
    INFO(i << ": " << text_of(c.layout));
    if (c.layout.cp == 1) same.layout.context_method = ContextMethod::ulysses;
    if (c.layout.etp == 0) same.layout.etp = c.layout.tp;
    if (c.layout.hsdp == 0) same.layout.hsdp = mul(c.layout.cp, c.layout.dp);  // one group of shards
    if (c.layout.pp == 1) same.layout.schedule = Schedule::zb_v;
    if (c.layout.zero != Zero::weights) same.layout.reshard = !c.layout.reshard;
    check_same(run(same), run(c));
  }
}

TEST_CASE("on a single network level, the order of ranks has no effect", "[cluster][train]") {
  Cases cases(8);
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = cases.any();
    c.cluster = device(1e12, 1e11, 2e9, 1e-6);
    c.cluster.levels[0].ranks = 0;
    INFO(i << ": " << text_of(c.layout));
    const TrainEstimate usual = run(c);
    c.layout.order = {Axis::pipeline, Axis::data, Axis::expert, Axis::context, Axis::tensor};
    check_same(run(c), usual);
  }
}

TEST_CASE("communication over links with unlimited bandwidth and no latency takes no time", "[cluster][train]") {
  Cases cases(3);
  for (int i = 0; i < 1000; ++i) {
    ClusterCase c = cases.any();
    for (Link& l : c.cluster.levels) l = {l.ranks, BytesPerSecond(1e300), Seconds()};
    INFO(i << ": " << text_of(c.layout));
    const StepTime t = run(c).bound;
    for (const Part p : {Part::tp, Part::cp, Part::ep, Part::dp, Part::pp})
      REQUIRE(t[p].value <= 1e-12 * t.total().value);
  }
}

namespace {

/// Fixes the layers of each stage, so that a step consists of sums and maxima of times. Returns false for schedules
/// whose order depends on times.
bool written_down(ClusterCase& c) {
  if (automatic(c.layout.schedule) && c.layout.pp > 1) return false;
  const Partition p = run(c).partition;
  for (Count i = 0; i < p.size(); ++i) c.layout.stage_layers.push(p[i].layers());
  return true;
}

}  // namespace

TEST_CASE("no step is faster over a slower link", "[cluster][train]") {
  Cases cases(4);
  for (int i = 0; i < 1000; ++i) {
    ClusterCase c = cases.any();
    if (!written_down(c)) continue;
    INFO(i << ": " << text_of(c.layout));
    const double fast = run(c).bound.total().value;
    Link& slower = c.cluster.levels[static_cast<std::size_t>(cases.below(2))];
    if (cases.coin())
      slower.bandwidth = 0.3 * slower.bandwidth;
    else
      slower.latency = 7 * slower.latency;
    REQUIRE(run(c).bound.total().value >= fast * (1 - 1e-12));
  }
}

TEST_CASE("no step is slower if more of its collective time is overlapped", "[cluster][train]") {
  Cases cases(5);
  for (int i = 0; i < 1000; ++i) {
    ClusterCase c = cases.any();
    c.plan.overlap = 0;
    if (!written_down(c)) continue;
    INFO(i << ": " << text_of(c.layout));
    double last = run(c).bound.total().value;
    for (const double hidden : {0.25, 0.5, 1.0}) {
      c.plan.overlap = hidden;
      const double now = run(c).bound.total().value;
      REQUIRE(now <= last * (1 + 1e-12));
      last = now;
    }
  }
}

TEST_CASE("a step is at least as long as the network time of its data-parallel collectives", "[cluster][train]") {
  Cases cases(6);
  for (int i = 0; i < 1000; ++i) {
    const ClusterCase c = cases.any();
    INFO(i << ": " << text_of(c.layout));
    const TrainEstimate e = run(c);
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const RowTimes rows = row_times(prices, c.plan, c.layout, c.cluster, Efficiency::full);
    const Pipeline p = pipeline_of(c.plan, c.layout);
    const auto m = static_cast<double>(micro_batches_per_direction(p));
    for (Count r = 0; r < p.ranks; ++r) {
      double gathered = 0, reduced = 0;
      for (Count local = 0; local < p.chunks; ++local)
        for_each_row(prices, e.partition[model_chunk(p, r, local)], [&](const LayerPrice& row, Count n) {
          const RowTime& t = rows.rows[static_cast<std::size_t>(&row - prices.rows.begin())];
          gathered += static_cast<double>(n) * t.gather.value;
          reduced += static_cast<double>(n) * t.reduce.value;
        });
      const double gathers = c.layout.zero == Zero::none ? 0 : c.layout.zero == Zero::weights ? m : 1;
      const bool every = c.layout.zero == Zero::weights || (c.layout.zero == Zero::gradients && p.ranks == 1);
      const double sums = every ? m : 1;
      REQUIRE(e.bound.total().value >= (gathers * gathered + sums * reduced) * (1 - 1e-12));
    }
  }
}
