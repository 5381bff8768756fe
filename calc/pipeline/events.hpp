#pragma once
/// Tasks in time: which task runs where, after which others, and when. Computes a step's time the long way, as a check
/// on the arithmetic that a search uses.

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
  recomputed_forward,  ///< recomputation in backward
  send_activation,
  send_gradient,
  wait_to_send,     ///< a rank's stall for the messages of a slot
  collective_call,  ///< collective inside a layer, between the ranks of a group
  gather_weights,
  reduce_gradients,
  fetch_from_host,    ///< weights and activations, in a slot
  move_to_host,       ///< activations or gradients, in a slot
  offload_gradients,  ///< to host memory, once per step
  optimizer,
  update_on_host,  ///< including weight transfers meanwhile
  mark             ///< takes no time; other tasks wait for it
};

/// Kind of work on a stream of a rank.
enum class Lane : std::uint8_t {
  compute,   ///< work of its compute units
  inside,    ///< collectives inside a layer
  experts,   ///< expert collectives that overlap with another slot's work
  sharing,   ///< gathers of weights and reductions of gradients between ranks that hold the same ones
  earlier,   ///< reductions that overlap with a later micro-batch (ZeRO-2)
  messages,  ///< between stages. They take no turns: each starts as soon as its waits are over
  to_host,
  from_host,
  host  ///< work of the CPU
};

/// A place where tasks run: a rank's compute units, its link to a network level, or its host.
struct TaskStream {
  Count rank = 0;
  Lane lane = Lane::compute;
  Count level = 0;        ///< network level
  bool backward = false;  ///< messages against the model's order
  constexpr bool operator==(const TaskStream&) const = default;
  constexpr bool takes_turns() const { return lane != Lane::messages; }
};

struct Task {
  std::size_t stream = 0;
  TaskKind kind = TaskKind::forward;
  Count chunk = 0, micro_batch = 0;                    ///< model chunk
  Count backward_chunk = 0, backward_micro_batch = 0;  ///< of forward_and_backward
  Seconds duration{};
  Seconds ready{};                   ///< earliest start
  Seconds start{}, end{};            ///< set by Timeline::run
  Count unit = -1;                   ///< layer or other unit of the model; -1: not in a unit
  TaskKind within = TaskKind::mark;  ///< for collectives and transfers: the work that they belong to
  Group group = Group::tensor;       ///< of a collective
};

class Timeline {
 public:
  /// Removes tasks and streams, and keeps their memory.
  void clear();
  /// The number of a stream, which is created on first use.
  std::size_t stream(const TaskStream& s);
  /// Appends a task to its stream.
  std::size_t add(const Task& t);
  /// Makes `task` start no earlier than `before` ahead of the end of `other`.
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
  std::vector<Wait> waits_, all_;               // the caller's waits; the same and the turns of streams
  std::vector<std::size_t> last_, first_then_;  // last task of each stream; where each task's followers begin
  std::vector<Wait> then_;                      // the waits, grouped by the task that is waited for
  std::vector<std::size_t> open_, ready_;
};

/// First and last task of a slot; the same if the slot is one task.
struct SlotTasks {
  std::size_t begin = 0, end = 0;
};
/// A slot of a rank and its tasks. `slot` describes the work; its times are in `tasks`.
struct SlotFrame {
  Task slot{};
  SlotTasks tasks{};
};

struct SlotMaker;

/// The tasks of a pipeline, by chunk_index() of the local chunk and micro-batch of its direction, for callers that
/// append.
class PipelineTasks {
 public:
  void resize(const Pipeline& p);
  SlotTasks& forward(Count index, Count micro_batch) { return at(0, index, micro_batch); }
  SlotTasks& gradients(Count index, Count micro_batch) { return at(1, index, micro_batch); }  ///< input gradients
  SlotTasks& weights(Count index, Count micro_batch) { return at(2, index, micro_batch); }
  std::span<const SlotFrame> frames() const { return frames_; }  ///< rank by rank, in order

 private:
  SlotTasks& at(Count part, Count index, Count micro_batch) {
    return tasks_[static_cast<std::size_t>((part * chunks_ + index) * micro_batches_ + micro_batch)];
  }
  friend struct PipelineBuilder;
  friend void add_pipeline(Timeline&, PipelineTasks&, const Pipeline&, const PipelineTimes&, const SlotMaker&);
  std::vector<SlotTasks> tasks_;
  std::vector<SlotFrame> frames_;
  Count chunks_ = 0, micro_batches_ = 0;
  MakespanWorkspace room_;  // for the order of automatic schedules
};

/// Options for placing a pipeline on a timeline.
struct SlotMaker {
  /// Appends the tasks of a slot, in place of the single task `whole`; empty: appends `whole`.
  std::function<SlotTasks(Timeline&, Count rank, const Slot&, const Task& whole)> put{};
  std::span<const Count> levels{};  ///< network levels, by boundary like the sends; empty: 0
};

/// Appends the slots of every rank, and the sends between ranks.
void add_pipeline(Timeline& timeline, PipelineTasks& tasks, const Pipeline& p, const PipelineTimes& t,
                  const SlotMaker& maker = {});

}  // namespace llmcalc
