#include "report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "calc/step_events.hpp"
#include "report/trace_text.hpp"

namespace llmcalc {
namespace {

/// Whole nanoseconds, so that events which follow each other do not overlap by rounding.
std::int64_t nanoseconds(Seconds s) { return std::llround(1e9 * s.value); }

std::string slot_name(std::string_view letter, Count micro_batch) {
  return fmt::format("{}{}", letter, micro_batch + 1);
}

std::string task_name(const Task& t) {
  switch (t.kind) {
    case TaskKind::forward:
      return slot_name("F", t.micro_batch);
    case TaskKind::backward:
    case TaskKind::backward_input:
      return slot_name("B", t.micro_batch);
    case TaskKind::backward_weight:
      return slot_name("W", t.micro_batch);
    case TaskKind::forward_and_backward:
      return slot_name("F", t.micro_batch) + " " + slot_name("B", t.backward_micro_batch);
    case TaskKind::send_activation:
      return "send " + slot_name("F", t.micro_batch);
    case TaskKind::send_gradient:
      return "send " + slot_name("B", t.micro_batch);
    case TaskKind::gather_weights:
      return "gather weights";
    case TaskKind::reduce_gradients:
      return t.chunk < 0 ? "sum shared gradients" : "reduce gradients";
    case TaskKind::offload_gradients:
      return "gradients to the host";
    case TaskKind::update_on_host:
      return "optimizer on the host";
    case TaskKind::optimizer:
      break;
  }
  return "optimizer";
}

std::string_view category(TaskKind k) {
  constexpr std::array names{
      "forward",           "backward",      "backward_input", "backward_weight",  "forward_and_backward",
      "send_activation",   "send_gradient", "gather_weights", "reduce_gradients", "optimizer",
      "offload_gradients", "update_on_host"};
  return names[static_cast<std::size_t>(k)];
}

/// Chunk and micro-batch of a task, counted from 1; of what runs backward beside a forward, too.
std::string arguments(const Task& t) {
  if (t.chunk < 0) return "{}";
  const bool whole = t.kind == TaskKind::gather_weights || t.kind == TaskKind::reduce_gradients ||
                     t.kind == TaskKind::offload_gradients;
  std::string s = fmt::format("{{\"chunk\":{}", t.chunk + 1);
  if (!whole) s += fmt::format(",\"micro_batch\":{}", t.micro_batch + 1);
  if (t.kind == TaskKind::forward_and_backward)
    s += fmt::format(",\"backward_chunk\":{},\"backward_micro_batch\":{}", t.backward_chunk + 1,
                     t.backward_micro_batch + 1);
  return s + "}";
}

/// The rows of a trace: one per stream, several for a stream whose tasks take no turns.
class TraceRows {
 public:
  explicit TraceRows(std::span<const TaskStream> streams) : streams_(streams), rows_(streams.size()) {}

  /// The row of a task, by number among those of its stream: the first that is free.
  std::size_t of(const Task& t) {
    std::vector<std::int64_t>& until = rows_[t.stream];
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

  /// Threads in the order in which they are to be seen.
  Count thread(std::size_t stream, std::size_t row) const {
    constexpr Count most_rows = 1000;
    const TaskStream& s = streams_[stream];
    const Count kind = s.host ? 4 : !s.network ? 0 : !s.overlapping ? 1 : s.backward ? 3 : 2;
    return most_rows * kind + static_cast<Count>(row);
  }

 private:
  std::span<const TaskStream> streams_;
  std::vector<std::vector<std::int64_t>> rows_;  ///< by stream and row: the end of its last event
};

std::string_view stream_name(const TaskStream& s) {
  if (s.host) return "host";
  if (!s.network) return "compute";
  if (!s.overlapping) return "data parallel";
  return s.backward ? "to the stage before" : "to the next stage";
}

void put_task(TraceText& text, const Task& t, const TracePlace& at) {
  const std::int64_t start = nanoseconds(t.start), end = nanoseconds(t.end);
  text.event(task_name(t), category(t.kind), at, start, end - start, arguments(t));
}

/// The tasks of the step, on a timeline that has run.
void put_step(Timeline& timeline, const Request& r) {
  const Cluster& cluster = r.hardware->cluster;
  const Prices prices = price(r.model.arch, r.plan, r.layout, cluster.device);
  const Partition cut = partition(prices, r.plan, r.layout, cluster);
  const Efficiency e = leading(prices);
  PipelineTasks tasks;
  add_step(timeline, tasks, step_seconds(prices, r.plan, r.layout, cluster, cut, e));
}

}  // namespace

std::string step_trace(const Request& r) {
  Timeline timeline;
  put_step(timeline, r);
  std::vector<const Task*> tasks;
  for (const Task& t : timeline.tasks())
    if (t.duration > Seconds()) tasks.push_back(&t);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return a->start < b->start; });
  const std::span<const TaskStream> streams = timeline.streams();
  TraceRows rows(streams);
  TraceText text;
  for (const Task* t : tasks) put_task(text, *t, {streams[t->stream].rank, rows.thread(t->stream, rows.of(*t))});
  for (Count rank = 0; rank < ranks(r.layout, Group::pipeline); ++rank) {
    text.metadata("process_name", {rank, 0}, "name",
                  fmt::format("\"stage {} of {}\"", rank + 1, ranks(r.layout, Group::pipeline)));
    text.metadata("process_sort_index", {rank, 0}, "sort_index", fmt::format("{}", rank));
  }
  for (std::size_t s = 0; s < streams.size(); ++s)
    for (std::size_t row = 0; row < rows.rows(s); ++row) {
      const Count thread = rows.thread(s, row);
      text.metadata("thread_name", {streams[s].rank, thread}, "name", fmt::format("\"{}\"", stream_name(streams[s])));
      text.metadata("thread_sort_index", {streams[s].rank, thread}, "sort_index", fmt::format("{}", thread));
    }
  return std::move(text).whole();
}

}  // namespace llmcalc
