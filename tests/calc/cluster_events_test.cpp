// A step's task schedule takes the time given by the closed form.

#include <algorithm>
#include <map>

#include "calc/step/step_events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Assigns random times to a case's rows.
void scramble(Prices& prices, Cases& cases) {
  const auto some = [&] { return Seconds(1e-3 * static_cast<double>(1 + cases.below(99))); };
  for (LayerPrice& row : prices.rows)
    for (PassPrice* pass : {&row.forward, &row.backward_input, &row.backward_weight, &row.recomputed})
      pass->bound.compute = pass->bound_work.matmul = some();
}

/// Software with random overlap fractions.
Achieved any_software(Cases& cases) {
  const auto fraction = [&] { return static_cast<double>(cases.below(5)) / 4; };
  Achieved a;
  a.present = true;
  a.software = {.kernel = Seconds(1e-6 * fraction()),
                .collective = Seconds(1e-6 * fraction()),
                .hidden_tensor = cases.coin() ? fraction() : 0,
                .hidden_by_weights = cases.coin() ? fraction() : 0,
                .hidden_overlapped = fraction(),
                .waits_to_send = fraction(),
                .waits_to_send_chunks = fraction()};
  return a;
}

ClusterCase any_kind(Cases& cases) {
  ClusterCase c = cases.any();
  if (cases.coin()) c.cluster = cases.clusters(1e7);  // collectives take longer than work
  if (cases.coin()) c.cluster.device.achieved = any_software(cases);
  if (cases.below(3) != 0) return c;
  c.cluster.device.host.link = BytesPerSecond(static_cast<double>(cases.one_of({10'000'000, 1'000'000'000})));
  c.cluster.device.host.memory = BytesPerSecond(2e9);
  const auto part = [&] { return Ratio{cases.below(3), 2}; };
  c.plan.offload = {part(), part(), part()};
  return c;
}

/// A random step, either a bound or an estimate.
struct StepRun {
  ClusterCase c;
  Prices prices;
  Efficiency efficiency;
  Pipeline pipeline;
  TrainEstimate estimate;
  StepSeconds seconds;
  Timeline timeline{};
  PipelineTasks tasks{};
  Seconds end;

  explicit StepRun(Cases& cases) : c(any_kind(cases)), prices(price(c.arch, c.plan, c.layout, c.cluster.device)) {
    if (cases.coin()) scramble(prices, cases);
    efficiency = prices.estimated ? Efficiency::estimated : Efficiency::full;
    pipeline = pipeline_of(c.plan, c.layout);
    estimate = assemble(prices, c.plan, c.layout, c.cluster);
    seconds = step_seconds(prices, c.plan, c.layout, c.cluster, estimate.partition, efficiency);
    end = add_step(timeline, tasks, seconds);
    UNSCOPED_INFO(text_of(c.layout) << (prices.estimated ? " estimated" : "")
                                    << (c.plan.offload.any() ? " offload" : ""));
  }
  double tolerance() const { return 1e-11 * end.value; }
  const TaskStream& stream(const Task& t) const { return timeline.streams()[t.stream]; }
  double closed() const { return (prices.estimated ? estimate.estimate : estimate.bound).total().value; }
};

/// Rank, chunk, micro-batch and unit.
using Place = std::array<Count, 4>;
Place place(const StepRun& s, const Task& t) { return {s.stream(t).rank, t.chunk, t.micro_batch, t.unit}; }
/// Start of the first and end of the last task of the given kinds, by place.
using Spans = std::map<Place, std::pair<Seconds, Seconds>>;
template <typename F>
Spans spans(const StepRun& s, const F& wanted) {
  Spans all;
  for (const Task& t : s.timeline.tasks()) {
    if (t.unit < 0 || !wanted(t)) continue;
    const auto [at, added] = all.insert({place(s, t), {t.start, t.end}});
    at->second.first = std::min(at->second.first, t.start);
    at->second.second = std::max(at->second.second, t.end);
  }
  return all;
}
Spans spans_of(const StepRun& s, std::initializer_list<TaskKind> kinds) {
  return spans(s, [&](const Task& t) { return std::find(kinds.begin(), kinds.end(), t.kind) != kinds.end(); });
}

/// Seconds of a step's collective tasks, by rank and group.
std::map<std::pair<Count, Count>, double> communicated(const StepRun& s) {
  std::map<std::pair<Count, Count>, double> all;
  for (const Task& t : s.timeline.tasks())
    if (t.kind == TaskKind::collective_call) all[{s.stream(t).rank, static_cast<Count>(t.group)}] += t.duration.value;
  return all;
}
double total(const StepRun& s, Count rank, TaskKind kind) {
  double all = 0;
  for (const Task& t : s.timeline.tasks())
    if (t.kind == kind && t.unit >= 0 && s.stream(t).rank == rank) all += t.duration.value;
  return all;
}
/// Calls f(price, time, layers) for the rows of a rank's chunks.
template <typename F>
void for_each_row_of(const StepRun& s, const RowTimes& rows, Count rank, const F& f) {
  for (Count i = 0; i < s.pipeline.chunks; ++i)
    for_each_row(s.prices, s.estimate.partition[model_chunk(s.pipeline, rank, i)], [&](const LayerPrice& row, Count n) {
      f(row, rows.rows[static_cast<std::size_t>(&row - s.prices.rows.begin())], n);
    });
}

}  // namespace

TEST_CASE("a task can start a given time before the end of the task it waits for", "[cluster][events]") {
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
  CHECK(line.tasks()[early].start == Seconds(16));  // its stream is busy until then
}

TEST_CASE("the makespan of a step's tasks equals the sum of the step's time parts", "[cluster][events]") {
  Cases cases(51);
  std::map<Schedule, int> seen;
  for (int i = 0; i < 2000; ++i) {
    const StepRun s(cases);
    ++seen[s.pipeline.schedule];
    REQUIRE(s.end.value == Approx(s.closed()).epsilon(1e-12));
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("tasks of a stream do not overlap, and optimizers start together unless updates are validated later",
          "[cluster][events]") {
  Cases cases(52);
  int alone = 0;
  for (int i = 0; i < 300; ++i) {
    const StepRun s(cases);
    std::vector<std::vector<Task>> streams(s.timeline.streams().size());
    std::map<Count, Seconds> updates;  // by rank
    for (const Task& t : s.timeline.tasks()) {
      REQUIRE(t.start.value >= -s.tolerance());
      streams[t.stream].push_back(t);
      if (t.kind == TaskKind::optimizer) updates[s.stream(t).rank] = t.start;
    }
    for (const auto& [rank, begin] : updates) {
      if (!validates_after(s.pipeline.schedule) || s.pipeline.ranks == 1) REQUIRE(begin == updates[0]);
      alone += begin != updates[0] ? 1 : 0;
    }
    for (const Task& t : s.timeline.tasks())
      if (s.stream(t).lane == Lane::sharing) REQUIRE(t.end <= updates[s.stream(t).rank]);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      if (!s.timeline.streams()[k].takes_turns()) continue;
      for (std::size_t j = 1; j < streams[k].size(); ++j) REQUIRE(streams[k][j].start >= streams[k][j - 1].end);
    }
  }
  CHECK(alone > 10);
}

TEST_CASE("the total time of a group's collective tasks is the sum over layers, passes and micro-batches",
          "[cluster][events]") {
  Cases cases(55);
  std::map<Group, int> seen;
  for (int i = 0; i < 300; ++i) {
    const StepRun s(cases);
    const LinkRates& links = rates_of(s.prices, s.efficiency).links;
    const RowTimes rows = row_times(s.prices, s.c.plan, s.c.layout, s.c.cluster, s.efficiency);
    const double m = static_cast<double>(micro_batches_per_direction(s.pipeline));
    std::map<std::pair<Count, Count>, double> all;
    for (Count r = 0; r < s.pipeline.ranks; ++r)
      for_each_row_of(s, rows, r, [&](const LayerPrice& row, const RowTime&, Count n) {
        for (const PassPrice* pass : {&row.forward, &row.backward_input, &row.recomputed})
          for (const CollectiveCall& e : pass->collectives) {
            const double seconds = communication_time(e, s.c.layout, s.c.cluster, links).total().value;
            if (seconds > 0) all[{r, static_cast<Count>(e.group)}] += m * static_cast<double>(n) * seconds;
          }
      });
    const auto by_tasks = communicated(s);
    REQUIRE(by_tasks.size() == all.size());
    for (const auto& [key, seconds] : all) {
      REQUIRE(by_tasks.at(key) == Approx(seconds).epsilon(1e-9));
      ++seen[static_cast<Group>(key.second)];
    }
  }
  for (const Group g : {Group::tensor, Group::context, Group::expert, Group::expert_tensor}) CHECK(seen[g] > 20);
}

TEST_CASE("weights are gathered and gradients reduced as often as the ZeRO stage requires", "[cluster][events]") {
  Cases cases(56);
  std::array<int, 4> seen{};
  for (int i = 0; i < 400; ++i) {
    const StepRun s(cases);
    const Zero zero = s.c.layout.zero;
    const RowTimes rows = row_times(s.prices, s.c.plan, s.c.layout, s.c.cluster, s.efficiency);
    const double m = static_cast<double>(micro_batches_per_direction(s.pipeline));
    for (Count r = 0; r < s.pipeline.ranks; ++r) {
      double gathered = 0, reduced = 0;
      for_each_row_of(s, rows, r, [&](const LayerPrice& row, const RowTime& t, Count n) {
        const bool outside = (row.segment == SegmentKind::embedding || row.segment == SegmentKind::head) && !row.mtp;
        const double backward = zero == Zero::weights && s.c.layout.reshard && !outside ? 1 : 0;
        gathered += static_cast<double>(n) * (zero == Zero::weights ? m * (1 + backward) : 1) * t.gather.value;
        const bool every = zero == Zero::weights || (zero == Zero::gradients && s.pipeline.ranks == 1);
        reduced += static_cast<double>(n) * (every ? m : 1) * t.reduce.value;
      });
      REQUIRE(total(s, r, TaskKind::gather_weights) == Approx(gathered).epsilon(1e-9).margin(1e-15));
      REQUIRE(total(s, r, TaskKind::reduce_gradients) == Approx(reduced).epsilon(1e-9).margin(1e-15));
      seen[static_cast<std::size_t>(zero)] += reduced > 0 ? 1 : 0;
    }
  }
  for (const int n : seen) CHECK(n > 20);
}

TEST_CASE("a collective inside a layer starts no earlier than the layer, and the next layer waits for it",
          "[cluster][events]") {
  Cases cases(57);
  int hidden = 0, waited = 0;
  for (int i = 0; i < 400; ++i) {
    const StepRun s(cases);
    const bool apart = s.seconds.sharing.apart;
    const Spans again = spans_of(s, {TaskKind::recomputed_forward}), forward = spans_of(s, {TaskKind::forward}),
                weights = spans_of(s, {TaskKind::backward_weight}), inputs = spans_of(s, {TaskKind::backward_input}),
                gradients = spans_of(s, {TaskKind::backward_input, TaskKind::backward_weight});
    const auto work = [&](TaskKind k) -> const Spans& {
      if (k == TaskKind::recomputed_forward) return again;
      if (k == TaskKind::forward) return forward;
      return !apart ? gradients : k == TaskKind::backward_input ? inputs : weights;
    };
    for (const Task& t : s.timeline.tasks()) {
      if (t.kind != TaskKind::collective_call || (t.group == Group::expert && pairs_experts(s.c.layout))) continue;
      const auto at = work(t.within).find(place(s, t));
      if (at == work(t.within).end()) continue;  // no work, for example for a sharded table
      REQUIRE(t.start.value >= at->second.first.value - s.tolerance());
      hidden += t.start < at->second.second ? 1 : 0;
      if (t.within != TaskKind::forward) continue;
      const auto next = forward.find({s.stream(t).rank, t.chunk, t.micro_batch, t.unit + 1});
      if (next == forward.end()) continue;
      REQUIRE(next->second.first.value >= t.end.value - s.tolerance());
      ++waited;
    }
  }
  CHECK(hidden > 1000);
  CHECK(waited > 1000);
}

TEST_CASE("no gradient is reduced before it is computed", "[cluster][events]") {
  Cases cases(53);
  int summed = 0;
  for (int i = 0; i < 400; ++i) {
    const StepRun s(cases);
    const Spans work = spans_of(s, {TaskKind::backward_input, TaskKind::backward_weight});
    const Count last = micro_batches_per_direction(s.pipeline) - 1;
    for (const Task& t : s.timeline.tasks()) {
      if (t.kind != TaskKind::reduce_gradients || t.unit < 0) continue;
      Place p = place(s, t);
      if (s.stream(t).lane == Lane::sharing && s.c.layout.zero != Zero::weights) {
        const bool second = s.pipeline.schedule == Schedule::dualpipe && work.count({p[0], p[1], last, p[3]}) == 0;
        p[2] = second ? 2 * last + 1 : last;
      }
      const auto at = work.find(p);
      if (at == work.end()) continue;
      REQUIRE(t.start.value >= at->second.second.value - s.tolerance());
      ++summed;
    }
  }
  CHECK(summed > 10000);
}

TEST_CASE("no unit runs forward before its weights are gathered", "[cluster][events]") {
  Cases cases(54);
  int gathers = 0, in_slots = 0;
  for (int i = 0; i < 400; ++i) {
    const StepRun s(cases);
    const bool sharded = s.c.layout.zero == Zero::weights;
    const Spans forward = spans_of(s, {TaskKind::forward});
    for (const Task& t : s.timeline.tasks()) {
      if (t.kind != TaskKind::gather_weights || (sharded && t.within != TaskKind::forward)) continue;
      Place p = place(s, t);
      const bool second = !sharded && forward.count(p) == 0;  // DualPipe's other direction
      if (second) p[2] = micro_batches_per_direction(s.pipeline);
      const auto at = forward.find(p);
      if (at == forward.end()) continue;
      REQUIRE(at->second.first.value >= t.end.value - s.tolerance());
      ++(sharded ? in_slots : gathers);
    }
  }
  CHECK(gathers > 1000);
  CHECK(in_slots > 1000);
}

TEST_CASE("the slots of a rank run in sequence, and the tasks of a slot run within the slot", "[cluster][events]") {
  Cases cases(58);
  int beside_pairs = 0;
  for (int i = 0; i < 300; ++i) {
    const StepRun s(cases);
    std::map<Count, std::vector<std::pair<Seconds, Seconds>>> slots, pairs;
    for (const SlotFrame& f : s.tasks.frames()) {
      const Task &begin = s.timeline.tasks()[f.tasks.begin], &end = s.timeline.tasks()[f.tasks.end];
      auto& all = slots[s.stream(begin).rank];
      REQUIRE((all.empty() || begin.start >= all.back().second));
      all.emplace_back(begin.start, end.end);
      if (f.slot.kind == TaskKind::forward_and_backward) pairs[s.stream(begin).rank].push_back(all.back());
    }
    const auto lies_in = [&](const Task& t, const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const auto& slot) {
        return t.start.value >= slot.first.value - s.tolerance() && t.end.value <= slot.second.value + s.tolerance();
      });
    };
    for (const Task& t : s.timeline.tasks()) {
      const TaskStream& at = s.stream(t);
      const bool of_slot = at.lane == Lane::inside || at.lane == Lane::from_host ||
                           (at.lane == Lane::sharing && t.unit >= 0 && s.c.layout.zero == Zero::weights);
      if (of_slot) REQUIRE(lies_in(t, slots[at.rank]));
      if (at.lane != Lane::experts) continue;
      REQUIRE(lies_in(t, pairs[at.rank]));
      ++beside_pairs;
    }
  }
  CHECK(beside_pairs > 1000);
}
