#include "calc/pipeline/makespan.hpp"

#include <algorithm>

#include "calc/pipeline/bound.hpp"
#include "calc/pipeline/pipeline_run.hpp"

namespace llmcalc {
namespace {

/// The fixed-order schedule with the memory limit of a given automatic schedule. Returns all other schedules
/// unchanged.
Schedule written(Schedule s) {
  return s == Schedule::zb_1p ? Schedule::zb_h1 : s == Schedule::zb_2p ? Schedule::zb_h2 : s;
}

Makespan run(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room, std::span<ChunkSpan> spans,
             bool whole) {
  Pipeline in_order = p;
  in_order.schedule = written(p.schedule);
  if (in_order.schedule == p.schedule) return PipelineRun(p, t, room, spans, whole).run();
  const Seconds by_order = step_of(p, PipelineRun(in_order, t, room, spans, whole).run());
  const Makespan by_rule = PipelineRun(p, t, room, spans, whole).run();
  if (step_of(p, by_rule) <= (1 + 1e-12) * by_order) return by_rule;
  return PipelineRun(in_order, t, room, spans, whole).run_and_write();
}

/// The makespan of one lane; writes the lane's spans to `spans`.
template <std::size_t n>
Makespan of_lane(const AlternatingRun<n>& run, const Pipeline& p, std::size_t lane, std::span<ChunkSpan> spans) {
  Makespan m{.chunks = spans};
  std::size_t i = 0;
  for (Count r = 0; r < p.ranks; ++r)
    for (Count c = 0; c < p.chunks; ++c, ++i) {
      spans[i] = {Seconds(run.first(r, c).at[lane]), Seconds(run.last(r, c).at[lane])};
      m.total = std::max(m.total, spans[i].last);
    }
  return m;
}

}  // namespace

template <std::size_t n>
std::array<Makespan, n> makespans(const Pipeline& p, const std::array<PipelineTimes, n>& t, MakespanWorkspace& room) {
  const auto chunks = static_cast<std::size_t>(mul(p.ranks, p.chunks));
  room.spans_.resize(n * chunks);
  const auto spans = [&](std::size_t lane) { return std::span(room.spans_).subspan(lane * chunks, chunks); };
  std::array<Makespan, n> all;
  if (!alternates(p.schedule)) {
    for (std::size_t i = 0; i < n; ++i) all[i] = run(p, t[i], room, spans(i), false);
    return all;
  }
  AlternatingRun<n> run(p, t, std::get<AlternatingWorkspace<n>>(room.alternating_));
  run.run();
  for (std::size_t i = 0; i < n; ++i) all[i] = of_lane(run, p, i, spans(i));
  return all;
}
template std::array<Makespan, 1> makespans(const Pipeline&, const std::array<PipelineTimes, 1>&, MakespanWorkspace&);
template std::array<Makespan, 2> makespans(const Pipeline&, const std::array<PipelineTimes, 2>&, MakespanWorkspace&);
template std::array<Makespan, 4> makespans(const Pipeline&, const std::array<PipelineTimes, 4>&, MakespanWorkspace&);

Makespan makespan(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room) {
  return makespans<1>(p, {t}, room)[0];
}

Makespan whole_makespan(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room) {
  room.spans_.resize(static_cast<std::size_t>(mul(p.ranks, p.chunks)));
  return run(p, t, room, room.spans_, true);
}

}  // namespace llmcalc
