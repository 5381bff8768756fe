#pragma once
/// Tasks in time: what runs where, after what, from when to when. The long way to a step's time; what a search uses
/// instead is held against it.

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
  send_activation,
  send_gradient,
  gather_weights,
  reduce_gradients,
  optimizer,
  offload_gradients,  ///< to the host
  update_on_host      ///< and weights that travel meanwhile
};

/// A place where tasks run: a rank's compute units, its way into one level of the network in one direction, or its
/// host.
struct TaskStream {
  Count rank = 0;
  bool network = false;
  Count level = 0;
  bool backward = false;     ///< against the order of the model
  bool overlapping = false;  ///< its tasks take no turns: each starts as soon as what it waits for is over
  bool host = false;
  constexpr bool operator==(const TaskStream&) const = default;
};

struct Task {
  std::size_t stream = 0;
  TaskKind kind = TaskKind::forward;
  Count chunk = 0, micro_batch = 0;                    ///< model chunk
  Count backward_chunk = 0, backward_micro_batch = 0;  ///< of forward_and_backward
  Seconds duration{};
  Seconds ready{};         ///< it does not start before
  Seconds start{}, end{};  ///< known after Timeline::run
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

/// The tasks of a pipeline, by chunk_index() of the local chunk and micro-batch of its direction, for who appends to
/// them.
class PipelineTasks {
 public:
  void resize(const Pipeline& p);
  std::size_t& forward(Count index, Count micro_batch) { return at(0, index, micro_batch); }
  std::size_t& gradients(Count index, Count micro_batch) { return at(1, index, micro_batch); }  ///< of inputs
  std::size_t& weights(Count index, Count micro_batch) { return at(2, index, micro_batch); }

 private:
  std::size_t& at(Count part, Count index, Count micro_batch) {
    return tasks_[static_cast<std::size_t>((part * chunks_ + index) * micro_batches_ + micro_batch)];
  }
  friend void add_pipeline(Timeline&, PipelineTasks&, const Pipeline&, const PipelineTimes&, std::span<const Count>);
  std::vector<std::size_t> tasks_;
  Count chunks_ = 0, micro_batches_ = 0;
  MakespanRoom room_;  // for the order of automatic schedules
};

/// Appends the slots of every rank, and sends between ranks. `levels`: of the network, by boundary as the sends are;
/// empty: 0.
void add_pipeline(Timeline& timeline, PipelineTasks& tasks, const Pipeline& p, const PipelineTimes& t,
                  std::span<const Count> levels = {});

}  // namespace llmcalc
