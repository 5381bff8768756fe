#pragma once
/// The slots of a pipeline as tasks: the work of every unit on the compute units, and beside it the exchanges inside
/// layers, gathers, reductions and transfers to and from the host.

#include <algorithm>

#include "calc/step/unit_work.hpp"

namespace llmcalc {

/// How the ranks that hold the same weights share them.
struct Sharing {
  Zero zero = Zero::none;
  bool shared = false;      ///< whether there are such ranks
  bool reshard = true;      ///< ZeRO-3 gathers again for backward
  bool apart = false;       ///< gradients of weights have slots of their own
  Count level = 0;          ///< of the network
  double fraction = 1;      ///< of what can be hidden of gathers and reductions
  Count micro_batches = 1;  ///< of a direction
  bool pipelined = false;
  bool pairs = false;  ///< exchanges with experts can run beside another slot's work
  /// Of two things side by side.
  constexpr Seconds overlap(Seconds a, Seconds b) const { return fraction * std::min(a, b); }
  constexpr bool gathers_in_slots() const { return shared && zero == Zero::weights; }
  constexpr bool reduces_earlier() const {
    return shared && zero == Zero::gradients && !pipelined && micro_batches > 1;
  }
};

/// A task, and how long before its end another may begin.
struct Ahead {
  std::size_t task = 0;
  Seconds before{};
};

/// Puts slots on a timeline. A slot begins and ends with marks on its rank's compute stream.
///
/// Work of a seconds that runs beside an exchange of b: they overlap for the fraction of min(a, b). The exchange begins
/// with both; the work so long before the exchange's end, or, where the work is the shorter, the exchange so long
/// before the work's end.
class SlotEvents {
 public:
  SlotEvents(Timeline& timeline, const Pipeline& p, std::span<const ChunkUnits> chunks, const Sharing& sharing)
      : timeline_(timeline),
        p_(p),
        chunks_(chunks),
        sharing_(sharing),
        gathered_(static_cast<std::size_t>(p.ranks * p.chunks)),
        unit_ends_(gathered_.size()) {}

  /// The seconds of slots of model chunk q, if nothing keeps them waiting.
  ChunkTime times(Count q);
  /// Seconds of a unit's forward.
  Seconds forward_of(const ChunkUnit& u);

  /// Appends a slot of a rank; `whole` says which.
  SlotTasks put(Count rank, const Slot& slot, const Task& whole);

  /// By local chunk, see chunk_index(): what a unit's first forward waits for. Empty: nothing does.
  std::vector<std::optional<Ahead>>& gathered(Count index) { return gathered_[static_cast<std::size_t>(index)]; }
  /// The tasks with which the units' last gradients of weights end.
  const std::vector<std::size_t>& unit_ends(Count index) const { return unit_ends_[static_cast<std::size_t>(index)]; }

 private:
  /// A task to be put on a stream of the rank.
  struct Load {
    Lane lane = Lane::compute;
    Count level = 0;
    TaskKind kind = TaskKind::mark;
    Count unit = -1;
    Seconds seconds{};
    Group group = Group::tensor;
    TaskKind within = TaskKind::mark;  ///< the work that it belongs to
    std::optional<bool> backward{};    ///< of the slot's gradients or forward; none: of what is being put
    Count earlier = 0;                 ///< micro-batches before that one
  };
  /// Tasks one after another, and a shorter one that begins with the first.
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
  Load exchange(const ChunkUnit& u, const GroupExchange& e) const {
    return {Lane::inside, e.level, TaskKind::exchange, u.number, e.seconds, e.group};
  }
  Loads earlier(Count q) const;
  Loads experts(Count q, Count backward_q) const;

  Timeline& timeline_;
  const Pipeline& p_;
  std::span<const ChunkUnits> chunks_;
  const Sharing& sharing_;
  std::vector<std::vector<std::optional<Ahead>>> gathered_;
  std::vector<std::vector<std::size_t>> unit_ends_;
  // of the slot that is put
  Task whole_{};
  Count rank_ = 0, index_ = 0, backward_index_ = 0, number_ = 0;  ///< number_: of its micro-batch in its direction
  bool first_ = false;                                            ///< its forward is the chunk's first
  bool apart_ = false;                                            ///< exchanges with experts run beside other work
  bool dry_ = false;                                              ///< seconds are summed, and nothing is put
  bool backward_ = false;                                         ///< gradients are put
  TaskKind within_ = TaskKind::mark;                              ///< the work that an exchange belongs to
  std::size_t now_ = 0;                                           ///< the task with which all ends that was put
  Seconds elapsed_{};                                             ///< of the slot, without waits for other slots
};

}  // namespace llmcalc
