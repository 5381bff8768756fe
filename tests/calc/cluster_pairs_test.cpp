// Expert collectives overlapped with the paired slots of DualPipe.

#include <algorithm>

#include "calc/step/step_events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A chunk whose forward and backward take `work` and `2 work`, each plus `experts` seconds of expert collectives.
ChunkSeconds chunk(double work, double experts) {
  ChunkSeconds c;
  c.forward = Seconds(work + experts);
  c.backward_input = Seconds(work + experts);
  c.backward_weight = Seconds(work);
  c.paired = {Seconds(work), Seconds(2 * work), Seconds(experts), Seconds(experts)};
  return c;
}

/// A random DualPipe or DualPipe-V step with expert parallelism.
ClusterCase any_paired(Cases& cases) {
  for (;;) {
    ClusterCase c = cases.any();
    if (!pairs_experts(c.layout)) continue;
    if (cases.coin()) c.cluster = cases.clusters(1e7);  // collectives take longer than work
    return c;
  }
}
std::vector<ChunkSeconds> all_chunks(const ClusterCase& c, const Prices& prices, const Partition& partition) {
  const RowTimes rows = row_times(prices, c.plan, c.layout, c.cluster, Efficiency::full);
  const Count m = micro_batches_per_direction(pipeline_of(c.plan, c.layout));
  std::vector<ChunkSeconds> all;
  for (Count q = 0; q < partition.size(); ++q) all.push_back(chunk_seconds(prices, rows, c.layout, partition[q], m));
  return all;
}
struct Slots {
  Seconds end;
  double saved = 0;  ///< seconds saved by paired slots relative to separate forwards and backwards; mean over ranks
  int pairs = 0;
};
Slots slots(const ClusterCase& c, const Prices& prices, const Partition& partition) {
  const StepSeconds s = step_seconds(prices, c.plan, c.layout, c.cluster, partition);
  const std::vector<ChunkSeconds> chunks = all_chunks(c, prices, partition);
  Timeline line;
  PipelineTasks tasks;
  Slots all{.end = add_step(line, tasks, s)};
  for (const SlotFrame& frame : tasks.frames()) {
    const Task& t = frame.slot;
    if (t.kind != TaskKind::forward_and_backward) continue;
    const Seconds duration = line.tasks()[frame.tasks.end].end - line.tasks()[frame.tasks.begin].start;
    const ChunkSeconds &f = chunks[static_cast<std::size_t>(t.chunk)],
                       &b = chunks[static_cast<std::size_t>(t.backward_chunk)];
    const Seconds apart = f.forward + b.backward_input + b.backward_weight;
    REQUIRE(duration.value <= apart.value * (1 + 1e-12));
    REQUIRE(duration.value >= (f.paired.forward + b.paired.backward).value * (1 - 1e-12));
    all.saved += (apart - duration).value / static_cast<double>(s.pipeline.ranks);
    ++all.pairs;
  }
  return all;
}
/// Expert time of all slots if none were paired.
double unpaired(const ClusterCase& c, const Prices& prices, const Partition& partition) {
  const RowTimes rows = row_times(prices, c.plan, c.layout, c.cluster, Efficiency::full);
  const Pipeline p = pipeline_of(c.plan, c.layout);
  double all = 0;
  for (Count r = 0; r < p.ranks; ++r)
    for (Count i = 0; i < p.chunks; ++i)
      for_each_row(prices, partition[model_chunk(p, r, i)], [&](const LayerPrice& row, Count n) {
        const RowTime& t = rows.rows[static_cast<std::size_t>(&row - prices.rows.begin())];
        all += static_cast<double>(n) * (t.forward[Part::ep] + t.backward_input[Part::ep]).value;
      });
  return static_cast<double>(micro_batches_per_direction(p)) * all / static_cast<double>(p.ranks);
}

/// Whether every layer hides the given share of its expert collectives.
bool fit_beside_work(const ClusterCase& c, const Prices& prices) {
  const RowTimes rows = row_times(prices, c.plan, c.layout, c.cluster, Efficiency::full);
  const double exposed = (1 - *c.plan.overlap) * (1 + 1e-9);
  return std::all_of(rows.rows.begin(), rows.rows.end(), [&](const RowTime& t) {
    return t.forward[Part::ep] <= exposed * t.experts_forward &&
           t.backward_input[Part::ep] <= exposed * t.experts_backward;
  });
}

}  // namespace

TEST_CASE("a paired slot takes the longer of its compute and its expert collectives", "[cluster][pairs]") {
  // Forward 3 + 2, backward 4 + 4 + 1: work 3 + 8, collectives 2 + 1.
  CHECK(paired_seconds(chunk(3, 2), chunk(4, 1), 1) == Seconds(11));
  CHECK(paired_seconds(chunk(3, 12), chunk(4, 1), 1) == Seconds(13));
  CHECK(paired_seconds(chunk(3, 2), chunk(4, 1), 0.5) == Seconds(11 + 0.5 * 3));
  CHECK(paired_seconds(chunk(3, 12), chunk(4, 1), 0.5) == Seconds(13 + 0.5 * 11));
  CHECK(paired_seconds(chunk(3, 2), chunk(4, 1), 0) == Seconds(14));
  CHECK(paired_seconds(chunk(3, 0), chunk(4, 0), 1) == Seconds());  // without collectives, one slot after the other
}

TEST_CASE("a paired slot takes no longer than a forward followed by a backward", "[cluster][pairs]") {
  ChunkSeconds hidden = chunk(3, 0);  // collectives of 20, fully hidden without a pair
  hidden.paired.experts_forward = Seconds(20);
  CHECK(paired_seconds(hidden, chunk(4, 0), 1) == Seconds(11));
}

TEST_CASE("only DualPipe and DualPipe-V pair each chunk with the chunk equally far from the other end",
          "[cluster][pairs]") {
  const std::vector<ChunkSeconds> chunks{chunk(1, 9), chunk(2, 0), chunk(4, 0), chunk(8, 1)};
  for (const Schedule s : pipeline_tests::all_schedules) {
    const bool paired = s == Schedule::dualpipe || s == Schedule::dualpipe_v;
    CHECK(chunk_time(chunks[0], chunks[3], s, 1).paired == (paired ? Seconds(1 + 16) : Seconds()));
    CHECK(chunk_time(chunks[3], chunks[0], s, 1).paired == (paired ? Seconds(1 + 9) : Seconds()));
    CHECK(chunk_time(chunks[1], chunks[2], s, 1).paired == Seconds());
  }
}

TEST_CASE("with paired slots, makespan equals step time, and pairing saves only expert-parallel time",
          "[cluster][pairs]") {
  Cases cases(81);
  int saving = 0;
  for (int i = 0; i < 300; ++i) {
    ClusterCase c = any_paired(cases);
    if (cases.coin()) c.plan.overlap.reset();
    INFO(i << ": " << text_of(c.layout));
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const TrainEstimate e = assemble(prices, c.plan, c.layout, c.cluster);
    const Slots s = slots(c, prices, e.partition);
    REQUIRE(s.pairs > 0);
    REQUIRE(s.end.value == Approx(e.bound.total().value).epsilon(1e-12));
    const double step = e.bound.total().value, all = unpaired(c, prices, e.partition);
    REQUIRE(e.bound[Part::ep].value == Approx(all - s.saved).epsilon(1e-9).margin(1e-12 * step));
    if (s.saved > 1e-9 * step) ++saving;
    // The given share is hidden in every slot, except for collectives longer than their layer's work.
    if (c.plan.overlap && fit_beside_work(c, prices)) REQUIRE(s.saved <= 1e-12 * step);
  }
  CHECK(saving > 50);
}

TEST_CASE("without expert collectives, pairing has no effect", "[cluster][pairs]") {
  Cases cases(82);
  for (int i = 0; i < 300; ++i) {
    const ClusterCase c = cases.any();
    if (pairs_experts(c.layout)) continue;
    const Prices prices = price(c.arch, c.plan, c.layout, c.cluster.device);
    const Partition partition = assemble(prices, c.plan, c.layout, c.cluster).partition;
    for (const ChunkSeconds& s : all_chunks(c, prices, partition)) REQUIRE(paired_seconds(s, s, 1) == Seconds());
  }
}
