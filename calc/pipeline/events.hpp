#pragma once
/// Tasks in time: what runs where, after what, from when to when. The long way to a step's time; what a search uses
/// instead is held against it.

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
  forward_again,  ///< what backward computes again
  send_activation,
  send_gradient,
  wait_to_send,  ///< a rank's own wait for the messages of a slot
  exchange,      ///< inside a layer, between the ranks of a group
  gather_weights,
  reduce_gradients,
  fetch_from_host,    ///< weights and activations, in a slot
  move_to_host,       ///< activations or gradients, in a slot
  offload_gradients,  ///< to the host, once per step
  optimizer,
  update_on_host,  ///< and weights that travel meanwhile
  mark             ///< takes no time: others wait for it
};

/// What runs on a stream of a rank.
enum class Lane : std::uint8_t {
  compute,   ///< work of its compute units
  inside,    ///< exchanges inside a layer
  experts,   ///< exchanges with experts that run beside another slot's work
  sharing,   ///< gathers of weights and reductions of gradients between ranks that hold the same ones
  earlier,   ///< reductions that run beside a later micro-batch (ZeRO-2)
  messages,  ///< between stages. They take no turns: each starts as soon as what it waits for is over
  to_host,
  from_host,
  host  ///< the host's own work
};

/// A place where tasks run: a rank's compute units, its way into a level of the network, or its host.
struct TaskStream {
  Count rank = 0;
  Lane lane = Lane::compute;
  Count level = 0;        ///< of the network
  bool backward = false;  ///< messages against the order of the model
  constexpr bool operator==(const TaskStream&) const = default;
  constexpr bool takes_turns() const { return lane != Lane::messages; }
};

struct Task {
  std::size_t stream = 0;
  TaskKind kind = TaskKind::forward;
  Count chunk = 0, micro_batch = 0;                    ///< model chunk
  Count backward_chunk = 0, backward_micro_batch = 0;  ///< of forward_and_backward
  Seconds duration{};
  Seconds ready{};                   ///< it does not start before
  Seconds start{}, end{};            ///< known after Timeline::run
  Count unit = -1;                   ///< layer or other unit of the model that it belongs to; -1: none
  TaskKind within = TaskKind::mark;  ///< of an exchange or transfer: the work that it belongs to
  Group group = Group::tensor;       ///< of an exchange
};

class Timeline {
 public:
  /// Forgets tasks and streams, and keeps their memory.
  void clear();
  /// The number of a stream; made when it is first asked for.
  std::size_t stream(const TaskStream& s);
  /// Puts a task at the end of its stream.
  std::size_t add(const Task& t);
  /// A task does not start earlier than so long before the end of another.
  void wait_for(std::size_t task, std::size_t other, Seconds before = {}) { waits_.push_back({other, task, before}); }
  /// Finds every task's start and end, each stream running its tasks in the order in which they were added. The end of
  /// the last; nothing if tasks wait for each other in a circle.
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
  std::vector<Wait> waits_, all_;               // what the caller asked for, and the turns of streams besides
  std::vector<std::size_t> last_, first_then_;  // of a stream its last task; where a task's followers begin
  std::vector<Wait> then_;                      // the waits, by the task that is waited for
  std::vector<std::size_t> open_, ready_;
};

/// The tasks with which a slot begins and ends: the same where it is one task.
struct SlotTasks {
  std::size_t begin = 0, end = 0;
};
/// A slot of a rank and its tasks. `slot` says what it is; its times are those of `tasks`.
struct SlotFrame {
  Task slot{};
  SlotTasks tasks{};
};

struct SlotMaker;

/// The tasks of a pipeline, by chunk_index() of the local chunk and micro-batch of its direction, for who appends to
/// them.
class PipelineTasks {
 public:
  void resize(const Pipeline& p);
  SlotTasks& forward(Count index, Count micro_batch) { return at(0, index, micro_batch); }
  SlotTasks& gradients(Count index, Count micro_batch) { return at(1, index, micro_batch); }  ///< of inputs
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
  MakespanRoom room_;  // for the order of automatic schedules
};

/// How a pipeline is put on a timeline.
struct SlotMaker {
  /// Appends the tasks of a slot, of which `whole` would be the only one; none: it is.
  std::function<SlotTasks(Timeline&, Count rank, const Slot&, const Task& whole)> put{};
  std::span<const Count> levels{};  ///< of the network, by boundary as the sends are; empty: 0
};

/// Appends the slots of every rank, and sends between ranks.
void add_pipeline(Timeline& timeline, PipelineTasks& tasks, const Pipeline& p, const PipelineTimes& t,
                  const SlotMaker& maker = {});

}  // namespace llmcalc
