// A step as tasks in time takes as long as the arithmetic says.

#include <algorithm>
#include <map>

#include "calc/step_events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A case's rows with any times.
void scramble(Prices& prices, Cases& cases) {
  const auto some = [&] { return Seconds(1e-3 * static_cast<double>(1 + cases.below(99))); };
  for (LayerPrice& row : prices.rows)
    for (PassPrice* pass : {&row.forward, &row.backward_input, &row.backward_weight, &row.again})
      pass->bound.compute = pass->bound_work.matmul = some();
}

struct StepRun {
  Timeline timeline;
  Prices prices;
  Pipeline pipeline;
  TrainEstimate estimate;
  Seconds end;
};
StepRun any_step(Cases& cases) {
  ClusterCase c = cases.any();
  if (cases.coin()) c.cluster = cases.clusters(1e7);  // exchanges take longer than work
  StepRun s;
  s.prices = price(c.arch, c.plan, c.layout, c.cluster.device);
  if (cases.coin()) scramble(s.prices, cases);
  s.pipeline = pipeline_of(c.plan, c.layout);
  s.estimate = assemble(s.prices, c.plan, c.layout, c.cluster);
  UNSCOPED_INFO(text_of(c.layout));
  PipelineTasks tasks;
  s.end = add_step(s.timeline, tasks, step_seconds(s.prices, c.plan, c.layout, c.cluster, s.estimate.partition));
  return s;
}

}  // namespace

TEST_CASE("A task may start a stated time before the end of another", "[cluster][events]") {
  Timeline line;
  Task t{.stream = line.stream({0})};
  t.duration = Seconds(10);
  const std::size_t first = line.add(t);
  t.stream = line.stream({1});
  const std::size_t then = line.add(t), early = line.add(t);
  line.wait_for(then, first, Seconds(4));
  line.wait_for(early, first, Seconds(9));
  CHECK(line.run() == Seconds(26));
  CHECK(line.tasks()[then].start == Seconds(6));
  CHECK(line.tasks()[early].start == Seconds(16));  // its stream is not free before
}

TEST_CASE("A step as tasks ends when the sum of its parts says", "[cluster][events]") {
  Cases cases(51);
  std::map<Schedule, int> seen;
  for (int i = 0; i < 1500; ++i) {
    const StepRun s = any_step(cases);
    ++seen[s.pipeline.schedule];
    REQUIRE(s.end.value == Approx(s.estimate.bound.total().value).epsilon(1e-12));
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("Every task lies in its stream without overlap, and the optimizers begin together", "[cluster][events]") {
  Cases cases(52);
  for (int i = 0; i < 500; ++i) {
    const StepRun s = any_step(cases);
    std::vector<std::vector<Task>> streams(s.timeline.streams().size());
    Seconds summed, update = Seconds(-1);
    for (const Task& t : s.timeline.tasks()) {
      REQUIRE(t.start >= Seconds());
      streams[t.stream].push_back(t);
      if (t.kind == TaskKind::optimizer) {
        REQUIRE((update < Seconds() || t.start == update));
        update = t.start;
      } else {
        summed = std::max(summed, t.end);
      }
    }
    CHECK(update == summed);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      if (s.timeline.streams()[k].overlapping) continue;
      for (std::size_t j = 1; j < streams[k].size(); ++j) REQUIRE(streams[k][j].start >= streams[k][j - 1].end);
    }
  }
}

TEST_CASE("No gradient is summed before the slot that computes it", "[cluster][events]") {
  Cases cases(53);
  for (int i = 0; i < 500; ++i) {
    const StepRun s = any_step(cases);
    std::map<std::pair<Count, Count>, Seconds> begins;  // of a rank's chunk: its last gradients of weights
    const auto makes_gradients = [](TaskKind k) {
      return k == TaskKind::backward || k == TaskKind::backward_weight || k == TaskKind::forward_and_backward;
    };
    for (const Task& t : s.timeline.tasks()) {
      const Count chunk = t.kind == TaskKind::forward_and_backward ? t.backward_chunk : t.chunk;
      Seconds& last = begins[{s.timeline.streams()[t.stream].rank, chunk}];
      if (makes_gradients(t.kind)) last = std::max(last, t.start);
    }
    const double step = s.end.value;
    for (const Task& t : s.timeline.tasks())
      if (t.kind == TaskKind::reduce_gradients && t.chunk >= 0)
        REQUIRE(t.start.value >= begins[{s.timeline.streams()[t.stream].rank, t.chunk}].value - 1e-12 * step);
  }
}

TEST_CASE("No chunk's first forward is over before all of its weights are there", "[cluster][events]") {
  Cases cases(54);
  int gathers = 0;
  for (int i = 0; i < 500; ++i) {
    const StepRun s = any_step(cases);
    std::map<std::pair<Count, Count>, Seconds> over;  // of a rank's chunk: its first forward
    for (const Task& t : s.timeline.tasks()) {
      if (t.kind != TaskKind::forward && t.kind != TaskKind::forward_and_backward) continue;
      const auto [first, added] = over.insert({{s.timeline.streams()[t.stream].rank, t.chunk}, t.end});
      first->second = std::min(first->second, t.end);
    }
    for (const Task& t : s.timeline.tasks()) {
      if (t.kind != TaskKind::gather_weights) continue;
      REQUIRE(over.at({s.timeline.streams()[t.stream].rank, t.chunk}).value >= t.end.value * (1 - 1e-12));
      ++gathers;
    }
  }
  CHECK(gathers > 100);
}
