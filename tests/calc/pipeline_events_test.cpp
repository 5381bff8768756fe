#include "calc/pipeline/events.hpp"

#include <algorithm>

#include "tests/calc/pipeline_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::pipeline_tests;

namespace {

Task task_of(std::size_t stream, double seconds) {
  Task t;
  t.stream = stream;
  t.duration = Seconds(seconds);
  return t;
}

}  // namespace

TEST_CASE("a task starts once its stream is free, its dependencies are done and its ready time has passed") {
  Timeline line;
  const std::size_t a = line.stream({0}), b = line.stream({1});
  CHECK(line.stream({0}) == a);
  const std::size_t first = line.add(task_of(a, 3)), second = line.add(task_of(a, 1)), other = line.add(task_of(b, 5));
  Task late = task_of(b, 1);
  late.ready = Seconds(20);
  const std::size_t last = line.add(late);
  line.wait_for(other, second);
  CHECK(line.run() == Seconds(21));
  CHECK(line.tasks()[first].end == Seconds(3));
  CHECK(line.tasks()[second].start == Seconds(3));
  CHECK(line.tasks()[other].start == Seconds(4));
  CHECK(line.tasks()[last].start == Seconds(20));
}

TEST_CASE("messages of the same message stream may overlap in time") {
  Timeline line;
  const std::size_t s = line.stream({0, Lane::messages, 1});
  line.add(task_of(s, 3));
  const std::size_t second = line.add(task_of(s, 4));
  CHECK(line.run() == Seconds(4));
  CHECK(line.tasks()[second].start == Seconds(0));
}

TEST_CASE("a timeline with circular dependencies reports that it cannot finish") {
  Timeline line;
  const std::size_t a = line.stream({0}), b = line.stream({1});
  const std::size_t a1 = line.add(task_of(a, 1)), a2 = line.add(task_of(a, 1));
  const std::size_t b1 = line.add(task_of(b, 1)), b2 = line.add(task_of(b, 1));
  line.wait_for(a1, b2);
  line.wait_for(b1, a2);
  CHECK(!line.run());
  line.clear();
  CHECK(line.run() == Seconds(0));
}

TEST_CASE("under every schedule tasks wait for their inputs and run one at a time per rank") {
  std::mt19937 random(21);
  Timeline line;
  PipelineTasks at;
  for (int i = 0; i < 300; ++i) {
    const Pipeline p = random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random, 6, 30);
    const Times t = random_times(p, random);
    line.clear();
    add_pipeline(line, at, p, t.view());
    REQUIRE(line.run().has_value());
    const auto task = [&](const SlotTasks& s) { return line.tasks()[s.begin]; };  // one task
    for (Count d = 0; d < directions(p); ++d)
      for (Count chunk = 0; chunk < model_chunks(p); ++chunk)
        for (Count j = 0; j < micro_batches_per_direction(p); ++j) {
          const Count here = chunk_index(p, chunk_place(p, chunk, d));
          REQUIRE(task(at.gradients(here, j)).start >= task(at.forward(here, j)).end);
          if (at.weights(here, j).end != at.gradients(here, j).end)
            REQUIRE(task(at.weights(here, j)).start >= task(at.gradients(here, j)).end);
          if (!t.ready.empty()) REQUIRE(task(at.forward(here, j)).start >= t.ready[static_cast<std::size_t>(chunk)]);
          if (chunk + 1 == model_chunks(p)) continue;
          const Count next = chunk_index(p, chunk_place(p, chunk + 1, d));
          const bool apart = rank_of(p, chunk, d) != rank_of(p, chunk + 1, d) && !t.sends.empty();
          const Seconds send = apart ? t.sends[static_cast<std::size_t>(chunk)] : Seconds();
          REQUIRE(task(at.forward(next, j)).start >= task(at.forward(here, j)).end + send);
          REQUIRE(task(at.gradients(here, j)).start >= task(at.gradients(next, j)).end + send);
        }
    std::vector<Seconds> until(line.streams().size()), start(line.tasks().size());
    for (const Task& u : line.tasks()) {
      if (!line.streams()[u.stream].takes_turns()) continue;
      REQUIRE(u.start >= until[u.stream]);
      until[u.stream] = u.end;
    }
  }
}

TEST_CASE("under every schedule, each rank runs the forward and backward of its chunks m times") {
  std::mt19937 random(22);
  Timeline line;
  PipelineTasks at;
  for (int i = 0; i < 200; ++i) {
    const Pipeline p = random_pipeline(all_schedules[static_cast<std::size_t>(i) % 10], random, 6, 30);
    Times t = random_times(p, random);
    for (ChunkTime& c : t.chunks) c.paired = Seconds();
    line.clear();
    add_pipeline(line, at, p, t.view());
    line.run();
    std::vector<double> worked(static_cast<std::size_t>(p.ranks)), expected(worked.size());
    for (const Task& u : line.tasks())
      if (const TaskStream& s = line.streams()[u.stream]; s.lane == Lane::compute)
        worked[static_cast<std::size_t>(s.rank)] += u.duration.value;
    for (Count r = 0; r < p.ranks; ++r)
      for (Count c = 0; c < p.chunks; ++c) {
        const ChunkTime& u = t.chunks[static_cast<std::size_t>(model_chunk(p, r, c))];
        expected[static_cast<std::size_t>(r)] += static_cast<double>(micro_batches_per_direction(p)) *
                                                 (u.forward + u.backward_input + u.backward_weight).value;
      }
    for (std::size_t r = 0; r < worked.size(); ++r) REQUIRE(worked[r] == Approx(expected[r]).epsilon(1e-12));
  }
}

TEST_CASE("pipeline sends have a stream per rank, level and direction, and take their boundary's send time") {
  const Pipeline p{Schedule::one_f_one_b, 3, 1, 2};
  Times t = equal_times(p, 1, 1, 1);
  t.sends = {Seconds(0.5), Seconds(0.25)};
  const std::vector<Count> levels{1, 2};
  Timeline line;
  PipelineTasks at;
  add_pipeline(line, at, p, t.view(), {.put = {}, .levels = levels});
  line.run();
  Count sends = 0;
  for (const Task& u : line.tasks()) {
    const TaskStream& s = line.streams()[u.stream];
    CHECK((s.lane == Lane::messages) == (u.kind == TaskKind::send_activation || u.kind == TaskKind::send_gradient));
    if (s.lane != Lane::messages) continue;
    ++sends;
    const Count boundary = s.backward ? u.chunk - 1 : u.chunk;
    CHECK(s.level == levels[static_cast<std::size_t>(boundary)]);
    CHECK(u.duration == t.sends[static_cast<std::size_t>(boundary)]);
    CHECK(s.rank == u.chunk);
  }
  CHECK(sends == 2 * 2 * 2);  // boundaries, directions, micro-batches
}
