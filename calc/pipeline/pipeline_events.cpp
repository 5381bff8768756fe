#include <algorithm>

#include "calc/pipeline/events.hpp"

namespace llmcalc {

struct PipelineBuilder {
  Timeline& timeline;
  PipelineTasks& tasks;
  const Pipeline& p;
  const PipelineTimes& t;
  const SlotMaker& maker;

  Count direction(Count local) const { return directions(p) == 2 ? local : 0; }
  /// Index of a micro-batch within its direction.
  Count in_direction(Count i) const { return i % micro_batches_per_direction(p); }
  Count in_all(Count i, Count direction) const { return i + direction * micro_batches_per_direction(p); }

  SlotTasks one_task(const Task& task) const {
    const std::size_t number = timeline.add(task);
    return {number, number};
  }
  void add_slot(Count rank, const Slot& s);
  void add_sends(ChunkPlace at);
  void add_send(TaskKind kind, ChunkPlace from, ChunkPlace to, Count micro_batch);
};

static_assert(static_cast<int>(TaskKind::forward_and_backward) == static_cast<int>(SlotKind::forward_and_backward));

void PipelineBuilder::add_slot(Count rank, const Slot& s) {
  const ChunkPlace at{rank, s.chunk}, gradient{rank, gradient_chunk(s)};
  const ChunkNode node = chunk_node(p, t, at), other = chunk_node(p, t, gradient);
  Task task{timeline.stream({rank}), static_cast<TaskKind>(s.kind), model_chunk(p, rank, s.chunk), s.micro_batch};
  task.backward_chunk = model_chunk(p, rank, gradient.local);
  task.backward_micro_batch = gradient_micro_batch(s);
  task.duration = Seconds(slot_seconds(s.kind, node, other));
  if (runs_forward(s.kind)) task.ready = Seconds(node.ready);
  const SlotTasks number = maker.put ? maker.put(timeline, rank, s, task) : one_task(task);
  tasks.frames_.push_back({task, number});
  const Count i = in_direction(s.micro_batch), j = in_direction(gradient_micro_batch(s));
  if (runs_forward(s.kind)) tasks.forward(chunk_index(p, at), i) = number;
  if (runs_backward(s.kind)) tasks.gradients(chunk_index(p, gradient), j) = number;
  if (runs_weights(s.kind)) tasks.weights(chunk_index(p, gradient), j) = number;
}

/// Sends a micro-batch's activations to the next chunk, or its gradients to the previous one. Within a rank, the
/// receiving slot waits for the sending one.
void PipelineBuilder::add_send(TaskKind kind, ChunkPlace from, ChunkPlace to, Count micro_batch) {
  const bool backward = kind == TaskKind::send_gradient;
  const ChunkNode node = chunk_node(p, t, to);
  const auto task = [&](ChunkPlace at) {
    return backward ? tasks.gradients(chunk_index(p, at), micro_batch) : tasks.forward(chunk_index(p, at), micro_batch);
  };
  if (from.rank == to.rank) return timeline.wait_for(task(to).begin, task(from).end);
  const Count chunk = model_chunk(p, from.rank, from.local), boundary = backward ? chunk - 1 : chunk;
  const Count level = maker.levels.empty() ? 0 : maker.levels[static_cast<std::size_t>(boundary)];
  Task send{timeline.stream({from.rank, Lane::messages, level, backward}), kind, chunk,
            in_all(micro_batch, direction(from.local))};
  send.duration = Seconds(backward ? node.from_after : node.from_before);
  const std::size_t number = timeline.add(send);
  timeline.wait_for(number, task(from).end);
  timeline.wait_for(task(to).begin, number);
}

void PipelineBuilder::add_sends(ChunkPlace at) {
  const Count chunk = model_chunk(p, at.rank, at.local), d = direction(at.local), last = model_chunks(p) - 1;
  for (Count i = 0; i < micro_batches_per_direction(p); ++i) {
    if (chunk < last) add_send(TaskKind::send_activation, at, chunk_place(p, chunk + 1, d), i);
    if (chunk > 0) add_send(TaskKind::send_gradient, at, chunk_place(p, chunk - 1, d), i);
    const SlotTasks forward = tasks.forward(chunk_index(p, at), i), gradients = tasks.gradients(chunk_index(p, at), i),
                    weights = tasks.weights(chunk_index(p, at), i);
    timeline.wait_for(gradients.begin, forward.end);
    if (weights.end != gradients.end) timeline.wait_for(weights.begin, gradients.end);
  }
}

void PipelineTasks::resize(const Pipeline& p) {
  chunks_ = p.ranks * p.chunks;
  micro_batches_ = micro_batches_per_direction(p);
  tasks_.assign(static_cast<std::size_t>(3 * chunks_ * micro_batches_), {});
  frames_.clear();
}

void add_pipeline(Timeline& timeline, PipelineTasks& tasks, const Pipeline& p, const PipelineTimes& t,
                  const SlotMaker& maker) {
  PipelineBuilder builder{timeline, tasks, p, t, maker};
  tasks.resize(p);
  if (automatic(p.schedule)) whole_makespan(p, t, tasks.room_);
  for (Count rank = 0; rank < p.ranks; ++rank) {
    const auto add = [&](const Slot& s) { builder.add_slot(rank, s); };
    if (!automatic(p.schedule)) for_each_slot(p, rank, add);
    if (automatic(p.schedule))
      for (const Slot& s : tasks.room_.slots(rank)) add(s);
  }
  for (Count rank = 0; rank < p.ranks; ++rank)
    for (Count local = 0; local < p.chunks; ++local) builder.add_sends({rank, local});
}

}  // namespace llmcalc
