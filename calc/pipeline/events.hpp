#pragma once
/// Timeline of tasks: the stream of each task, the tasks that it waits for, and its start and end. Simulates a step,
/// as a check on the arithmetic that a search uses.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "calc/pipeline/makespan.hpp"

namespace llmcalc {

enum class TaskKind : std::uint8_t {
  forward,
  backward,
  backward_input,
  backward_weight,
  forward_and_backward,
  recomputed_forward,  ///< recomputation of a forward, in backward
  send_activation,
  send_gradient,
  wait_to_send,     ///< stall of a rank while a slot's inter-stage messages are sent
  collective_call,  ///< collective inside a layer, between the ranks of a group
  gather_weights,
  reduce_gradients,
  fetch_from_host,    ///< copies weights and activations to the device, within a slot
  move_to_host,       ///< copies activations or gradients to the host, within a slot
  offload_gradients,  ///< copies gradients to the host, once per step
  optimizer,
  update_on_host,  ///< the optimizer's updates on the host, including concurrent weight transfers
  mark             ///< takes no time; other tasks wait for it
};

/// A rank's streams, by kind of work.
enum class Lane : std::uint8_t {
  compute,   ///< work of the rank's compute units
  inside,    ///< collectives inside a layer
  experts,   ///< expert collectives that overlap with another slot's work
  sharing,   ///< gathers of weights and reductions of gradients between ranks that hold the same parameters
  earlier,   ///< reductions that overlap with a later micro-batch (ZeRO-2)
  messages,  ///< messages between stages. Each starts as soon as the tasks that it waits for have ended: messages do
             ///< not queue
  to_host,
  from_host,
  host  ///< work of the CPU
};

/// A place where tasks run: a rank's compute units, its link to a network level, or its host.
struct TaskStream {
  Count rank = 0;
  Lane lane = Lane::compute;
  Count level = 0;        ///< level of the network that it uses
  bool backward = false;  ///< whether it carries gradient messages, which run opposite to model order
  constexpr bool operator==(const TaskStream&) const = default;
  constexpr bool takes_turns() const { return lane != Lane::messages; }
};

struct Task {
  std::size_t stream = 0;
  TaskKind kind = TaskKind::forward;
  Count chunk = 0, micro_batch = 0;                    ///< `chunk`: index of a model chunk
  Count backward_chunk = 0, backward_micro_batch = 0;  ///< chunk and micro-batch of the backward in
                                                       ///< forward_and_backward
  Seconds duration{};
  Seconds ready{};                   ///< earliest start that the caller allows
  Seconds start{}, end{};            ///< times set by Timeline::run
  Count unit = -1;                   ///< index of a layer or other unit of the model; -1: the task is not in a unit
  TaskKind within = TaskKind::mark;  ///< kind of work of which a collective or transfer is part
  Group group = Group::tensor;       ///< group of ranks of a collective
};

class Timeline {
 public:
  /// Removes all tasks and streams, but keeps the allocated memory.
  void clear();
  /// Index of a stream, which is created on first use.
  std::size_t stream(const TaskStream& s);
  /// Appends a task to its stream.
  std::size_t add(const Task& t);
  /// Makes `task` start no earlier than `before` seconds before the end of `other`.
  void wait_for(std::size_t task, std::size_t other, Seconds before = {}) { waits_.push_back({other, task, before}); }
  /// Computes every task's start and end; each stream runs its tasks in the order in which they were added. Returns the
  /// end of the last task, or nullopt if tasks wait for each other in a cycle.
  std::optional<Seconds> run();

  std::span<const Task> tasks() const { return tasks_; }
  std::span<const TaskStream> streams() const { return streams_; }

 private:
  struct Wait {
    std::size_t first = 0, then = 0;
    Seconds before{};
  };
  void order_streams();
  void group_waits();
  std::vector<Task> tasks_;
  std::vector<TaskStream> streams_;
  std::vector<Wait> waits_, all_;               // the caller's waits; these plus the order of tasks on streams
  std::vector<std::size_t> last_, first_then_;  // last task of each stream; each task's first index in then_
  std::vector<Wait> then_;                      // the waits, grouped by the task that is waited for
  std::vector<std::size_t> open_, ready_;
};

/// First and last task of a slot; equal if the slot is a single task.
struct SlotTasks {
  std::size_t begin = 0, end = 0;
};
/// A slot of a rank and its tasks. `slot` describes the work; its times are in `tasks`.
struct SlotFrame {
  Task slot{};
  SlotTasks tasks{};
};

struct SlotMaker;

/// The tasks of a pipeline, by chunk_index() of the local chunk and by micro-batch within the chunk's direction.
/// Callers can append tasks that wait for these.
class PipelineTasks {
 public:
  void resize(const Pipeline& p);
  SlotTasks& forward(Count index, Count micro_batch) { return at(0, index, micro_batch); }
  SlotTasks& gradients(Count index, Count micro_batch) { return at(1, index, micro_batch); }  ///< input gradients
  SlotTasks& weights(Count index, Count micro_batch) { return at(2, index, micro_batch); }
  std::span<const SlotFrame> frames() const { return frames_; }  ///< the slots, rank by rank and in order

 private:
  SlotTasks& at(Count part, Count index, Count micro_batch) {
    return tasks_[static_cast<std::size_t>((part * chunks_ + index) * micro_batches_ + micro_batch)];
  }
  friend struct PipelineBuilder;
  friend void add_pipeline(Timeline&, PipelineTasks&, const Pipeline&, const PipelineTimes&, const SlotMaker&);
  std::vector<SlotTasks> tasks_;
  std::vector<SlotFrame> frames_;
  Count chunks_ = 0, micro_batches_ = 0;
  MakespanWorkspace room_;  // used to find the order of automatic schedules
};

/// Options for adding a pipeline to a timeline.
struct SlotMaker {
  /// Appends the tasks of a slot, in place of the single task `whole`; empty: appends `whole`.
  std::function<SlotTasks(Timeline&, Count rank, const Slot&, const Task& whole)> put{};
  std::span<const Count> levels{};  ///< network level of each boundary, indexed like the sends; empty: level 0
};

/// Appends the slots of every rank, and the sends between ranks.
void add_pipeline(Timeline& timeline, PipelineTasks& tasks, const Pipeline& p, const PipelineTimes& t,
                  const SlotMaker& maker = {});

}  // namespace llmcalc
