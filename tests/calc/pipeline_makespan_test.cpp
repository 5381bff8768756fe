#include "calc/pipeline/makespan.hpp"

#include <algorithm>
#include <cmath>

#include "calc/pipeline/bound.hpp"
#include "calc/pipeline/events.hpp"
#include "calc/textbook/parallel.hpp"
#include "tests/calc/pipeline_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::pipeline_tests;

namespace {

bool same(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

/// The makespan of the pipeline scheduled as tasks, with the same tables.
struct ByEvents {
  Timeline line;
  PipelineTasks tasks;
  double total = 0;
  std::vector<double> first, last, busy;

  void run(const Pipeline& p, const PipelineTimes& t) {
    line.clear();
    add_pipeline(line, tasks, p, t);
    total = line.run().value().value;
    first.clear();
    last.clear();
    for (Count c = 0; c < p.ranks * p.chunks; ++c) {
      first.push_back(line.tasks()[tasks.forward(c, 0).begin].start.value);
      last.push_back(line.tasks()[tasks.weights(c, micro_batches_per_direction(p) - 1).end].end.value);
    }
    busy.assign(static_cast<std::size_t>(p.ranks), 0);
    for (const Task& u : line.tasks())
      if (const TaskStream& s = line.streams()[u.stream]; s.lane == Lane::compute)
        busy[static_cast<std::size_t>(s.rank)] += u.duration.value;
  }
};

bool agree(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room, ByEvents& events) {
  events.run(p, t);
  const Makespan m = makespan(p, t, room);
  bool all = same(m.total.value, events.total);
  for (std::size_t c = 0; c < events.first.size(); ++c)
    all = all && same(m.chunks[c].first.value, events.first[c]) && same(m.chunks[c].last.value, events.last[c]);
  for (std::size_t r = 0; r < events.busy.size(); ++r)
    all = all && same(busy_seconds(p, t, static_cast<Count>(r)).value, events.busy[r]);
  return all;
}

double total(const Pipeline& p, const Times& t) {
  MakespanWorkspace room;
  return makespan(p, t.view(), room).total.value;
}

double step(const Pipeline& p, const Times& t) {
  MakespanWorkspace room;
  return step_of(p, makespan(p, t.view(), room)).value;
}

/// Longest time that any rank needs until its last gradients. It is measured from the earliest start of the rank's
/// chunks, each minus its ready time.
double longest(const Pipeline& p, const Times& t, const ByEvents& events) {
  double most = 0;
  for (Count r = 0; r < p.ranks; ++r) {
    double begin = events.total, end = 0;
    for (Count i = 0; i < p.chunks; ++i) {
      const auto c = static_cast<std::size_t>(chunk_index(p, {r, i})),
                 q = static_cast<std::size_t>(model_chunk(p, r, i));
      begin = std::min(begin, events.first[c] - (t.ready.empty() ? 0 : t.ready[q].value));
      end = std::max(end, events.last[c]);
    }
    most = std::max(most, end - begin);
  }
  return most;
}

/// The longest total wait of any rank between its first and its last slot.
double worst_wait(const Pipeline& p, const Times& t) {
  MakespanWorkspace room;
  const Makespan m = makespan(p, t.view(), room);
  double worst = 0;
  for (Count r = 0; r < p.ranks; ++r) {
    double first = m.total.value, last = 0;
    for (Count c = 0; c < p.chunks; ++c) {
      const ChunkSpan& s = m.chunks[static_cast<std::size_t>(chunk_index(p, {r, c}))];
      first = std::min(first, s.first.value);
      last = std::max(last, s.last.value);
    }
    worst = std::max(worst, last - first - busy_seconds(p, t.view(), r).value);
  }
  return worst;
}

}  // namespace

TEST_CASE("makespan, chunk spans and rank work match the simulated tasks") {
  std::mt19937 random(31);
  MakespanWorkspace room;
  ByEvents events;
  for (int i = 0; i < 3000; ++i) {
    const Pipeline p = random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random);
    const Times t = random_times(p, random);
    INFO(name(p.schedule) << " of " << p.ranks << " x " << p.chunks << ", " << p.micro_batches << " micro-batches");
    REQUIRE(agree(p, t.view(), room, events));
    if (validates_after(p.schedule))
      REQUIRE(makespan(p, t.view(), room).longest.value == Approx(longest(p, t, events)).epsilon(1e-12));
  }
}

// With long sends, times repeat only after several rounds; with small differences between chunks, only after many.
TEST_CASE("skipping repeated rounds never changes the makespan, for any start or period of the repetition") {
  std::mt19937 random(32);
  MakespanWorkspace room;
  ByEvents events;
  for (int i = 0; i < 200; ++i) {
    const Pipeline p = random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random, 8, 900);
    Times t = random_times(p, random);
    const double longer = i % 3 == 0 ? 7 : 1, closer = i % 3 == 1 ? 1e-3 : 1;
    for (Seconds& s : t.sends) s = longer * s;
    for (ChunkTime& c : t.chunks) {
      c.forward = Seconds(1) + closer * c.forward;
      c.backward_input = Seconds(1) + closer * c.backward_input;
    }
    INFO(name(p.schedule) << " of " << p.ranks << " x " << p.chunks << ", " << p.micro_batches << " micro-batches");
    REQUIRE(agree(p, t.view(), room, events));
  }
}

TEST_CASE("makespans computed together for several sets of times equal those computed one by one") {
  std::mt19937 random(35);
  MakespanWorkspace one, four;
  for (int i = 0; i < 500; ++i) {
    const Pipeline p =
        random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random, 8, i % 50 == 0 ? 900 : 40);
    const std::array<Times, 4> times{random_times(p, random), random_times(p, random), random_times(p, random),
                                     random_times(p, random)};
    const auto all = makespans<4>(p, {times[0].view(), times[1].view(), times[2].view(), times[3].view()}, four);
    INFO(name(p.schedule) << " of " << p.ranks << " x " << p.chunks << ", " << p.micro_batches << " micro-batches");
    for (std::size_t k = 0; k < 4; ++k) {
      const Makespan m = makespan(p, times[k].view(), one);
      REQUIRE(same(all[k].total.value, m.total.value));
      REQUIRE(same(all[k].longest.value, m.longest.value));
      for (std::size_t c = 0; c < m.chunks.size(); ++c) {
        REQUIRE(same(all[k].chunks[c].first.value, m.chunks[c].first.value));
        REQUIRE(same(all[k].chunks[c].last.value, m.chunks[c].last.value));
      }
    }
  }
}

TEST_CASE("a pipeline of one rank takes m (F + B + W)") {
  for (const Schedule s :
       {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_1p, Schedule::zb_2p}) {
    const Pipeline p{s, 1, 1, 37};
    CHECK(total(p, equal_times(p, 3, 4, 5)) == 37 * 12);
  }
  for (const Schedule s : {Schedule::interleaved, Schedule::zb_v, Schedule::dualpipe_v}) {
    const Pipeline p{s, 1, 2, 37};
    CHECK(total(p, equal_times(p, 3, 4, 5)) == 37 * 2 * 12);
  }
}

TEST_CASE("with whole-second times, GPipe, 1F1B and interleaved have exactly the textbook's bubble") {
  const textbook::StageTimes stage{3, 9, 5, 0};
  for (const Count ranks : {1, 2, 4, 7, 16})
    for (const Count m : {1, 3, 16, 100}) {
      const Pipeline g{Schedule::gpipe, ranks, 1, m}, f{Schedule::one_f_one_b, ranks, 1, m};
      const double work = static_cast<double>(m) * 12;
      CHECK(total(g, equal_times(g, 3, 4, 5)) - work ==
            textbook::bubble_seconds(textbook::Schedule::gpipe, ranks, stage));
      CHECK(total(f, equal_times(f, 3, 4, 5)) - work ==
            textbook::bubble_seconds(textbook::Schedule::one_f_one_b, ranks, stage));
      for (const Count v : {2, 3, 5}) {
        const Pipeline i{Schedule::interleaved, ranks, v, (m + 1) * ranks};
        const textbook::StageTimes whole{3.0 * static_cast<double>(v), 9.0 * static_cast<double>(v), 0, 0};
        CHECK(total(i, equal_times(i, 3, 4, 5)) - static_cast<double>(i.micro_batches * v) * 12 ==
              textbook::bubble_seconds(textbook::Schedule::interleaved, ranks, whole, v));
      }
    }
}

// arXiv:2401.10241, table 1: (P-1)(T_F + T_B - T_W) and (P-1)(T_F + T_B - 2 T_W), T_W <= T_B. In ZB-H2 every rank ends
// later by as much as it begins later; an optimizer step that does not wait for all ranks makes up for this.
TEST_CASE("ZB-H1 and ZB-H2 have the bubbles stated in their paper") {
  for (const Count ranks : {2, 4, 8, 13})
    for (const auto& [f, b, w] : {std::array{1, 1, 1}, {10, 11, 9}, {10, 10, 6}, {11, 10, 9}, {10, 12, 8}}) {
      const textbook::StageTimes stage{1.0 * f, 1.0 * (b + w), 1.0 * w, 0};
      const Pipeline h1{Schedule::zb_h1, ranks, 1, 4 * ranks}, h2{Schedule::zb_h2, ranks, 1, 4 * ranks};
      const double work = static_cast<double>(4 * ranks * (f + b + w));
      CHECK(total(h1, equal_times(h1, f, b, w)) - work ==
            textbook::bubble_seconds(textbook::Schedule::zb_h1, ranks, stage));
      CHECK(worst_wait(h2, equal_times(h2, f, b, w)) ==
            textbook::bubble_seconds(textbook::Schedule::zb_h2, ranks, stage));
      CHECK(total(h2, equal_times(h2, f, b, w)) - work ==
            static_cast<double>((ranks - 1) * std::max(f, f + b - 2 * w)));
    }
}

// arXiv:2401.10241, section 3.2: with the memory of ZB-H1 and ZB-H2 a search over orders also finds their bubbles.
TEST_CASE("with equal ranks, ZB-1p has the bubble of ZB-H1, and ZB-2p the bubble of ZB-H2") {
  for (const Count ranks : {2, 4, 8, 13})
    for (const auto& [f, b, w] : {std::array{1, 1, 1}, {10, 11, 9}, {11, 10, 9}, {10, 12, 8}, {10, 10, 6}}) {
      const textbook::StageTimes stage{1.0 * f, 1.0 * (b + w), 1.0 * w, 0};
      const Pipeline p1{Schedule::zb_1p, ranks, 1, 4 * ranks}, p2{Schedule::zb_2p, ranks, 1, 4 * ranks};
      const double h1 = textbook::bubble_seconds(textbook::Schedule::zb_h1, ranks, stage);
      const double h2 = textbook::bubble_seconds(textbook::Schedule::zb_h2, ranks, stage);
      if (w != 6) CHECK(worst_wait(p1, equal_times(p1, f, b, w)) == h1);
      if (w != 6) CHECK(worst_wait(p2, equal_times(p2, f, b, w)) == h2);
      CHECK(worst_wait(p1, equal_times(p1, f, b, w)) <= 1.08 * h1);  // gaps of 4 that are filled with a W of 6
      CHECK(worst_wait(p2, equal_times(p2, f, b, w)) <= h2);
    }
}

// The orders of ZB-H1 and ZB-H2 stay within the memory of ZB-1p and ZB-2p, which may therefore run them.
TEST_CASE("ZB-1p never takes longer than ZB-H1, nor ZB-2p than ZB-H2") {
  std::mt19937 random(34);
  int sooner = 0, as_written = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool one = i % 2 == 0;
    Pipeline p = random_pipeline(one ? Schedule::zb_1p : Schedule::zb_2p, random, 8, 60);
    const Times t = random_times(p, random);
    const double by_rule = step(p, t);
    p.schedule = one ? Schedule::zb_h1 : Schedule::zb_h2;
    const double written = step(p, t);
    INFO(name(p.schedule) << " of " << p.ranks << ", " << p.micro_batches << " micro-batches");
    REQUIRE(by_rule <= written * (1 + 1e-12));
    ++(by_rule < written * (1 - 1e-12) ? sooner : as_written);
  }
  CHECK(sooner > 100);
  CHECK(as_written > 100);
}

TEST_CASE("each additional micro-batch adds the same time, regardless of their number") {
  for (const Schedule s : all_schedules) {
    const Count v = fixed_chunks(s) == 0 ? 3 : fixed_chunks(s);
    const Pipeline some{s, 4, v, 1 << 12}, many{s, 4, v, Count{1} << 40};
    const double more = static_cast<double>(many.micro_batches - some.micro_batches);
    INFO(name(s));
    REQUIRE(flaw(many) == PipelineFlaw::none);
    const double each = 12.0 * static_cast<double>(v) / static_cast<double>(directions(some));
    CHECK(total(many, equal_times(many, 3, 4, 5)) == total(some, equal_times(some, 3, 4, 5)) + more * each);
  }
}

// arXiv:2405.15362, section 3.3: no bubble if T_F = T_B = T_W.
TEST_CASE("with equal F, B and W no rank of ZB-V waits between its first and its last slot") {
  for (const Count ranks : {1, 2, 3, 4, 8, 13})
    for (const Count m : {2 * ranks, 2 * ranks + 1, 6 * ranks}) {
      const Pipeline p{Schedule::zb_v, ranks, 2, m};
      const Times t = equal_times(p, 1, 1, 1);
      CHECK(worst_wait(p, t) == 0);
      CHECK(total(p, t) == static_cast<double>(6 * m + ranks - 1));  // the last rank begins P - 1 later
    }
}

// The same paper's evaluation reports bubbles of a few percent if the parts differ as in practice.
TEST_CASE("with unequal F, B and W ZB-V stays near its bound and below 1F1B") {
  for (const auto& [f, b, w] : {std::array{10, 11, 9}, {10, 9, 11}, {10, 12, 8}, {11, 10, 9}, {10, 10, 6}}) {
    const Pipeline p{Schedule::zb_v, 8, 2, 48}, plain{Schedule::one_f_one_b, 8, 1, 48};
    const double work = 48 * 2 * (f + b + w);
    CHECK(total(p, equal_times(p, f, b, w)) < 1.08 * work);
    CHECK(total(p, equal_times(p, f, b, w)) < total(plain, equal_times(plain, 2 * f, 2 * b, 2 * w)));
  }
}

// The README of github.com/deepseek-ai/DualPipe: (PP/2 - 1)(F&B + B - 3W), PP stages; DualPipe-V has PP/2 ranks.
TEST_CASE("the bubbles of DualPipe and DualPipe-V match their authors' formula") {
  for (const Count stages : {2, 4, 8, 12})
    for (const auto& [f, w] : {std::array{1, 1}, {10, 9}, {10, 6}, {3, 1}}) {
      const textbook::StageTimes stage{1.0 * f, 1.0 * (f + w), 1.0 * w, 1.0 * (2 * f + w)};
      const double bubble = textbook::bubble_seconds(textbook::Schedule::dualpipe, stages, stage);
      const Pipeline d{Schedule::dualpipe, stages, 2, 4 * stages}, v{Schedule::dualpipe_v, stages / 2, 2, 4 * stages};
      CHECK(total(d, equal_times(d, f, f, w)) - static_cast<double>(4 * stages * (2 * f + w)) == bubble);
      CHECK(total(v, equal_times(v, f, f, w)) - static_cast<double>(8 * stages * (2 * f + w)) == bubble);
    }
}

TEST_CASE("the time given for a paired slot replaces the sum of its two passes") {
  const Pipeline p{Schedule::dualpipe, 4, 2, 40};
  const Times apart = equal_times(p, 2, 2, 2), together = equal_times(p, 2, 2, 2, 5);
  const double saved = busy_seconds(p, apart.view(), 1).value - busy_seconds(p, together.view(), 1).value;
  Count pairs = 0;
  for_each_slot(p, 1, [&](const Slot& s) { pairs += s.kind == SlotKind::forward_and_backward ? 1 : 0; });
  CHECK(pairs > 20);
  CHECK(saved == static_cast<double>(pairs));
  CHECK(total(p, together) < total(p, apart));
}

TEST_CASE("the lower bound never exceeds the makespan, and equals it if one rank is by far the slowest") {
  std::mt19937 random(33);
  MakespanWorkspace room;
  for (int i = 0; i < 3000; ++i) {
    const Pipeline p = random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random);
    const Times t = random_times(p, random);
    INFO(name(p.schedule) << " of " << p.ranks << ", " << p.micro_batches << " micro-batches");
    REQUIRE(least_makespan(p, t.view()).value <= makespan(p, t.view(), room).total.value * (1 + 1e-12));
  }
  const Pipeline p{Schedule::one_f_one_b, 4, 1, 20};
  Times t = equal_times(p, 1, 1, 1);
  t.chunks[2] = {Seconds(50), Seconds(50), Seconds(50), Seconds()};
  CHECK(least_makespan(p, t.view()).value == 2 + 20 * 150 + 4);
  CHECK(total(p, t) == 2 + 20 * 150 + 4);
  t = equal_times(p, 1, 1, 1);
  t.ready = {Seconds(), Seconds(), Seconds(), Seconds(100)};
  CHECK(least_makespan(p, t.view()).value == 100 + 20 * 3 + 3 * 2);
  CHECK(total(p, t) == 100 + 20 * 3 + 3 * 2);
}

// F = B = 2, 2 ranks, 2 micro-batches. Rank 0 runs F1 until 2, F2 until 4, and has I1's input at 6, I2's at 10 (rank 1:
// F1 2 to 4, I1 to 6, F2 to 8, I2 to 10). From 8 to 10 it could run W1. Rank 1's Ws last until 50, so no other order
// ends sooner.
TEST_CASE("an idle gap is filled with weight gradients that last at most twice as long") {
  const Pipeline p{Schedule::zb_1p, 2, 1, 2};
  MakespanWorkspace room;
  const auto kinds = [&](double weight) {
    Times t = equal_times(p, 2, 2, weight);
    t.chunks[1].backward_weight = Seconds(20);
    CHECK(makespan(p, t.view(), room).total.value == 50);
    std::vector<SlotKind> order;
    for (const Slot& s : room.slots(0)) order.push_back(s.kind);
    return order;
  };
  constexpr SlotKind f = SlotKind::forward, i = SlotKind::backward_input, w = SlotKind::backward_weight;
  CHECK(kinds(4) == std::vector{f, f, i, w, i, w});
  CHECK(kinds(4.1) == std::vector{f, f, i, i, w, w});
}
