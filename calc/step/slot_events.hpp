#pragma once
/// The slots of a pipeline as tasks: the work of every unit on the compute units and, overlapped with it, collectives
/// inside layers, gathers, reductions and transfers to and from host memory.

#include <algorithm>

#include "calc/step/unit_work.hpp"

namespace llmcalc {

/// Sharding of weights and gradients among the ranks that hold the same weights.
struct Sharing {
  Zero zero = Zero::none;
  bool shared = false;      ///< whether several ranks hold the same weights
  bool reshard = true;      ///< whether ZeRO-3 regathers weights for backward
  bool apart = false;       ///< whether weight gradients have separate slots
  Count level = 0;          ///< network level that gathers and reductions cross
  double fraction = 1;      ///< achieved fraction of the possible overlap of gathers and reductions
  Count micro_batches = 1;  ///< number of micro-batches per direction
  bool pipelined = false;
  bool pairs = false;  ///< whether expert collectives can overlap with another slot's work
  /// Seconds of overlap between two concurrent tasks of a and b seconds.
  constexpr Seconds overlap(Seconds a, Seconds b) const { return fraction * std::min(a, b); }
  constexpr bool gathers_in_slots() const { return shared && zero == Zero::weights; }
  constexpr bool reduces_earlier() const {
    return shared && zero == Zero::gradients && !pipelined && micro_batches > 1;
  }
};

/// A task, and how long before its end the next task may begin.
struct Ahead {
  std::size_t task = 0;
  Seconds before{};
};

/// Adds slots to a timeline. A slot begins and ends with a mark on its rank's compute stream.
///
/// Work of `a` seconds and a concurrent collective of `b` seconds overlap for `fraction` of min(a, b). If the work is
/// longer, the collective starts first, and the work starts that long before the collective ends. Otherwise, the work
/// starts first, and the collective starts that long before the work ends.
class SlotEvents {
 public:
  SlotEvents(Timeline& timeline, const Pipeline& p, std::span<const ChunkUnits> chunks, const Sharing& sharing)
      : timeline_(timeline),
        p_(p),
        chunks_(chunks),
        sharing_(sharing),
        gathered_(static_cast<std::size_t>(p.ranks * p.chunks)),
        unit_ends_(gathered_.size()) {}

  /// Seconds of the slots of model chunk q, excluding waits.
  ChunkTime times(Count q);
  /// Seconds of a unit's forward.
  Seconds forward_of(const ChunkUnit& u);

  /// Appends a slot of a rank, as described by `whole`.
  SlotTasks put(Count rank, const Slot& slot, const Task& whole);

  /// The tasks that the first forwards of a local chunk's units wait for; nullopt: no wait. `index`: see chunk_index().
  std::vector<std::optional<Ahead>>& gathered(Count index) { return gathered_[static_cast<std::size_t>(index)]; }
  /// For each unit of a local chunk, the last task of its last weight gradients.
  const std::vector<std::size_t>& unit_ends(Count index) const { return unit_ends_[static_cast<std::size_t>(index)]; }

 private:
  /// A task to be added to a stream of the rank.
  struct Load {
    Lane lane = Lane::compute;
    Count level = 0;
    TaskKind kind = TaskKind::mark;
    Count unit = -1;
    Seconds seconds{};
    Group group = Group::tensor;
    TaskKind within = TaskKind::mark;  ///< kind of work of which the task is part
    std::optional<bool> backward{};    ///< whether it is part of the slot's gradients (true) or forward (false); empty:
                                       ///< of the part being added
    Count earlier = 0;                 ///< number of micro-batches by which it precedes the slot's micro-batch
  };
  /// A chain of tasks, and a shorter task that begins at the same time as the first of them.
  struct Loads {
    std::vector<Load> chain{};
    Load along{};
    Seconds seconds() const;
  };
  enum class Gradients : std::uint8_t { all, inputs, weights };

  const ChunkUnits& chunk(Count q) const { return chunks_[static_cast<std::size_t>(q)]; }
  template <typename F>
  Seconds measure(const F& run);
  std::size_t put_task(const Load& load);
  void run(SlotKind kind, Count q, Count backward_q);
  void run_forward(Count q);
  void run_backward(Count q);
  void run_pair(Count q, Count backward_q);
  void work_of_pair(Count q, Count backward_q);
  void send(Count q);
  void forward(Count q);
  void gradients(Count q, Gradients part);
  void pass(const ChunkUnit& u, const std::vector<RowPass>& rows);
  void pass(const ChunkUnit& u, const RowPass& row);
  void leg(const ChunkUnit& u, const Leg& l);
  void work(TaskKind kind, Count unit, Seconds seconds);
  void alone(const Load& load);
  void wait_for_weights(std::size_t unit);
  void hold_back(const Loads& others, Seconds overlap);
  std::size_t put_others(const Loads& others, Ahead first);
  template <typename F>
  void beside(const Loads& others, Seconds overlap, Seconds own, const F& run);
  template <typename F>
  void beside(const Loads& others, const F& run);
  Load shared(TaskKind kind, const ChunkUnit& u, Seconds seconds, TaskKind within) const {
    return {Lane::sharing, sharing_.level, kind, u.number, seconds, Group::data, within};
  }
  Load gather(const ChunkUnit& u) const {
    return shared(TaskKind::gather_weights, u, u.gather, backward_ ? TaskKind::backward_input : TaskKind::forward);
  }
  Load reduce(const ChunkUnit& u) const {
    return shared(TaskKind::reduce_gradients, u, u.reduce, TaskKind::backward_weight);
  }
  Load collective_call(const ChunkUnit& u, const GroupCollective& e) const {
    return {Lane::inside, e.level, TaskKind::collective_call, u.number, e.seconds, e.group};
  }
  Loads earlier(Count q) const;
  Loads experts(Count q, Count backward_q) const;

  Timeline& timeline_;
  const Pipeline& p_;
  std::span<const ChunkUnits> chunks_;
  const Sharing& sharing_;
  std::vector<std::vector<std::optional<Ahead>>> gathered_;
  std::vector<std::vector<std::size_t>> unit_ends_;
  // State of the slot being added:
  Task whole_{};
  /// number_: index of the slot's micro-batch within its direction.
  Count rank_ = 0, index_ = 0, backward_index_ = 0, number_ = 0;
  bool first_ = false;                ///< whether the slot has the chunk's first forward
  bool apart_ = false;                ///< whether expert collectives overlap with other work
  bool dry_ = false;                  ///< whether only seconds are summed and no tasks are added
  bool backward_ = false;             ///< whether gradients are being added
  TaskKind within_ = TaskKind::mark;  ///< kind of work of which a collective is part
  std::size_t now_ = 0;               ///< the last task added so far
  Seconds elapsed_{};                 ///< seconds of the slot so far, excluding waits for other slots
};

}  // namespace llmcalc
