#include "report/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "calc/links/route.hpp"
#include "calc/step/step_events.hpp"
#include "report/trace/trace_names.hpp"
#include "report/trace/trace_text.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Whole nanoseconds, so that rounding does not make consecutive events overlap.
std::int64_t nanoseconds(Seconds s) { return std::llround(1e9 * s.value); }

/// Chunk and micro-batch of a slot, counted from 1, including the chunk and micro-batch of a backward pass that
/// overlaps with the forward pass.
std::string arguments(const Task& t) {
  std::string s = fmt::format("{{\"chunk\":{},\"micro_batch\":{}", t.chunk + 1, t.micro_batch + 1);
  if (t.kind == TaskKind::forward_and_backward)
    s += fmt::format(",\"backward_chunk\":{},\"backward_micro_batch\":{}", t.backward_chunk + 1,
                     t.backward_micro_batch + 1);
  return s + "}";
}

/// Streams as displayed. Weight gathers and gradient reductions share one stream, and each is displayed at the
/// outermost level that it uses: with --hsdp, gathers stay inside the ranks that hold one replica.
class ShownStreams {
 public:
  ShownStreams(std::span<const TaskStream> streams, Count gather_level) : all_(streams.begin(), streams.end()) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      TaskStream s = streams[i];
      const bool moves = s.lane == Lane::sharing && s.level != gather_level;
      of_gathers_.push_back(moves ? all_.size() : i);
      s.level = gather_level;
      if (moves) all_.push_back(s);
    }
  }
  std::span<const TaskStream> all() const { return all_; }
  std::size_t of(const Task& t) const { return t.kind == TaskKind::gather_weights ? of_gathers_[t.stream] : t.stream; }

 private:
  std::vector<TaskStream> all_;
  std::vector<std::size_t> of_gathers_;  ///< row of weight gathers, by stream
};

/// Rows of a trace: one per stream, or several for a stream with overlapping tasks.
class TraceRows {
 public:
  explicit TraceRows(std::span<const TaskStream> streams) : streams_(streams), rows_(streams.size()) {}

  /// The number of a task's row within its stream: the first free row.
  std::size_t of(const Task& t, std::size_t stream) {
    std::vector<std::int64_t>& until = rows_[stream];
    const std::int64_t start = nanoseconds(t.start), end = nanoseconds(t.end);
    const auto row = std::find_if(until.begin(), until.end(), [&](std::int64_t u) { return u <= start; });
    const auto number = static_cast<std::size_t>(row - until.begin());
    if (row == until.end())
      until.push_back(end);
    else
      *row = end;
    return number;
  }
  std::size_t rows(std::size_t stream) const { return rows_[stream].size(); }

  /// The thread id of a row. Ids are in display order, after the id of the slots.
  Count thread(std::size_t stream, std::size_t row) const {
    constexpr Count most_rows = 1000, most_levels = 4;
    const TaskStream& s = streams_[stream];
    const Count lane = 2 * static_cast<Count>(s.lane) + (s.backward ? 1 : 0);
    return 1 + most_rows * (most_levels * lane + s.level) + static_cast<Count>(row);
  }

 private:
  std::span<const TaskStream> streams_;
  std::vector<std::vector<std::int64_t>> rows_;  ///< end of the last event, by stream and row
};

/// The tasks of a step and their timeline.
struct TracedStep {
  Timeline timeline{};
  PipelineTasks tasks{};
  Count layers = 0, gather_level = 0;

  explicit TracedStep(const Request& r) {
    const Cluster& cluster = r.hardware->cluster;
    const Prices prices = price(r.model.arch, r.plan, r.layout, cluster.device);
    const Partition cut = partition(prices, r.plan, r.layout, cluster);
    const Efficiency e = leading(prices);
    layers = whole_model(prices.kinds).layers();
    gather_level = outermost_level(cluster, r.layout, Group::shard);
    if (r.model.arch.has_experts())
      gather_level = std::max(gather_level, outermost_level(cluster, r.layout, Group::expert_shard));
    add_step(timeline, tasks, step_seconds(prices, r.plan, r.layout, cluster, cut, e));
  }
  const TaskStream& stream(const Task& t) const { return timeline.streams()[t.stream]; }
};

void put_slots(TraceText& text, const TracedStep& step) {
  for (const SlotFrame& f : step.tasks.frames()) {
    const Task &begin = step.timeline.tasks()[f.tasks.begin], &end = step.timeline.tasks()[f.tasks.end];
    const std::int64_t start = nanoseconds(begin.start);
    text.event(slot_name(f.slot), task_category(f.slot), {step.stream(begin).rank, 0}, start,
               nanoseconds(end.end) - start, arguments(f.slot));
  }
}

void put_tasks(TraceText& text, const TracedStep& step, const ShownStreams& shown, TraceRows& rows) {
  std::vector<const Task*> tasks;
  for (const Task& t : step.timeline.tasks())
    if (t.duration > Seconds()) tasks.push_back(&t);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->start < b->start; });
  for (const Task* t : tasks) {
    const TaskStream& s = step.stream(*t);
    const std::int64_t start = nanoseconds(t->start);
    const std::size_t stream = shown.of(*t);
    text.event(task_name(*t, s, step.layers), task_category(*t), {s.rank, rows.thread(stream, rows.of(*t, stream))},
               start, nanoseconds(t->end) - start, "");
  }
}

void put_thread(TraceText& text, const TracePlace& at, const std::string& name) {
  text.metadata("thread_name", at, "name", fmt::format("\"{}\"", name));
  text.metadata("thread_sort_index", at, "sort_index", fmt::format("{}", at.thread));
}

/// Upper limit on layers times micro-batches in a trace; each adds about ten events of about a hundred bytes.
constexpr Count most_layers_shown = 2'000'000;

void check_size(const Request& r) {
  const Count layers = r.model.arch.layers, all = micro_batches(r.plan, r.layout);
  if (all <= most_layers_shown / layers) return;
  const Count stages = ranks(r.layout, Group::pipeline);
  const Count fit = std::max<Count>(1, most_layers_shown / layers / stages) * stages;
  throw InputError(
      fmt::format("--trace writes every layer of every micro-batch, but {} micro-batches of {} layers exceed the "
                  "limits of trace viewers; use --global-batch {} or less",
                  all, layers, mul(fit, r.plan.micro_batch, replicas(r.layout))));
}

}  // namespace

std::string step_trace(const Request& r) {
  check_size(r);
  const TracedStep step(r);
  const ShownStreams shown(step.timeline.streams(), step.gather_level);
  const std::span<const TaskStream> streams = shown.all();
  TraceRows rows(streams);
  TraceText text;
  put_slots(text, step);
  put_tasks(text, step, shown, rows);
  const Count stages = ranks(r.layout, Group::pipeline);
  for (Count rank = 0; rank < stages; ++rank) {
    text.metadata("process_name", {rank, 0}, "name", fmt::format("\"stage {} of {}\"", rank + 1, stages));
    text.metadata("process_sort_index", {rank, 0}, "sort_index", fmt::format("{}", rank));
    put_thread(text, {rank, 0}, "slots");
  }
  for (std::size_t s = 0; s < streams.size(); ++s)
    for (std::size_t row = 0; row < rows.rows(s); ++row)
      put_thread(text, {streams[s].rank, rows.thread(s, row)}, stream_name(streams[s]));
  return std::move(text).whole();
}

}  // namespace llmcalc
