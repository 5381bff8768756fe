#pragma once
/// The order in which every rank runs its slots, for schedules with a fixed order.
///
/// A rank's order is a short list of runs, each a repeated pattern of steps. Steps do not name micro-batches, because
/// every chunk runs each kind of work in micro-batch order. Steady runs are the same on every rank. They consist of
/// rounds, each of which is one or more repetitions of the pattern; a simulation can skip rounds once their times
/// repeat.
///
/// Sources: GPipe (arXiv:1811.06965); 1F1B (arXiv:2006.09503) and interleaved (arXiv:2104.04473) as Megatron-LM runs
/// them, the latter with 2 (P - r - 1) + (v-1)P warm-up forward slots; ZB-H1 and ZB-H2 (arXiv:2401.10241, section 2);
/// DualPipe and DualPipe-V, the eight steps of github.com/deepseek-ai/DualPipe.

#include <algorithm>
#include <array>

#include "calc/inplace_vector.hpp"
#include "calc/pipeline/schedule.hpp"

namespace llmcalc {

/// Work that a rank runs without interruption.
enum class SlotKind : std::uint8_t {
  forward,
  backward,              ///< input and weight gradients; input gradients are sent when both are done
  backward_input,        ///< only input gradients
  backward_weight,       ///< only weight gradients
  forward_and_backward,  ///< a forward and the whole backward of another micro-batch, as one slot
};
constexpr bool runs_forward(SlotKind k) { return k == SlotKind::forward || k == SlotKind::forward_and_backward; }
/// Whether the slot computes input gradients; runs_weights(): whether it computes weight gradients.
constexpr bool runs_backward(SlotKind k) { return k != SlotKind::forward && k != SlotKind::backward_weight; }
constexpr bool runs_weights(SlotKind k) { return k != SlotKind::forward && k != SlotKind::backward_input; }

struct Slot {
  SlotKind kind = SlotKind::forward;
  Count chunk = 0, micro_batch = 0;  ///< `chunk`: index of a local chunk
  /// The backward that overlaps with the forward; only in forward_and_backward.
  Count backward_chunk = 0, backward_micro_batch = 0;
  constexpr bool operator==(const Slot&) const = default;
};
/// The chunk and micro-batch whose gradients a slot computes.
constexpr Count gradient_chunk(const Slot& s) {
  return s.kind == SlotKind::forward_and_backward ? s.backward_chunk : s.chunk;
}
constexpr Count gradient_micro_batch(const Slot& s) {
  return s.kind == SlotKind::forward_and_backward ? s.backward_micro_batch : s.micro_batch;
}

/// A slot without its micro-batch. With `by_turns`, the chunk changes after every P micro-batches: from first to last
/// in forward slots, from last to first in all others.
struct OrderStep {
  static constexpr std::int8_t by_turns = -1;
  SlotKind kind = SlotKind::forward;
  std::int8_t chunk = by_turns, backward_chunk = by_turns;
};

struct OrderRun {
  std::array<OrderStep, 4> steps{};
  std::int32_t size = 0;
  Count times = 0;   ///< number of repetitions of the steps
  Count rounds = 0;  ///< number of rounds of a steady run; every rank has the same steady runs in the same order
};

/// Whether the ranks of a schedule run some forwards ahead and then alternate between a forward and a backward.
constexpr bool alternates(Schedule s) { return s == Schedule::one_f_one_b || s == Schedule::interleaved; }
/// Number of forwards that a rank runs before its first backward, if alternates() holds for the schedule: P - r - 1
/// in 1F1B, 2 (P - r - 1) + (v - 1) P in interleaved pipelines; at most all.
Count forwards_ahead(const Pipeline& p, Count rank);

/// The local chunks of consecutive slots in one direction of an interleaved pipeline, which take turns of P slots.
class ChunkTurns {
 public:
  /// `upward`: from the first to the last chunk, as in forward.
  ChunkTurns(const Pipeline& p, bool upward) : p_(p), upward_(upward), left_(p.ranks) {}
  Count chunk() const { return upward_ ? passed_ : p_.chunks - 1 - passed_; }
  Count left() const { return left_; }  ///< number of slots left in the current turn
  /// Passes up to `slots` slots of the current chunk, and returns their number.
  Count pass(Count slots) {
    const Count n = std::min(slots, left_);
    left_ -= n;
    if (left_ > 0) return n;
    left_ = p_.ranks;
    passed_ = passed_ + 1 == p_.chunks ? 0 : passed_ + 1;
    return n;
  }

 private:
  const Pipeline& p_;
  bool upward_;
  Count left_, passed_ = 0;
};

using RankOrder = InplaceVector<OrderRun, 20>;
/// The order of a rank. Precondition: the pipeline has no flaw. For an automatic schedule it has only forwards and
/// input gradients; weight gradients are inserted later, according to time and memory, each after the input gradients
/// of its chunk.
RankOrder rank_order(const Pipeline& p, Count rank);
/// Maximum number of micro-batches, summed over local chunks, that a rank of an automatic schedule holds until their
/// weight gradients are done: P in ZB-1p, 2P in ZB-2p, and 2P with half the layers each in ZB-V.
constexpr Count most_chunks_saved(const Pipeline& p) {
  return p.schedule == Schedule::zb_1p ? p.ranks : mul(2, p.ranks);
}

/// A position in a rank's order, without micro-batches, for schedules whose chunks do not take turns.
class PlainOrderCursor {
 public:
  PlainOrderCursor() = default;
  explicit PlainOrderCursor(const RankOrder& order) : order_(&order) { enter(0); }
  bool done() const { return run_ == order_->size(); }
  SlotKind kind() const { return step_->kind; }
  Count chunk() const { return step_->chunk > 0 ? step_->chunk : 0; }
  Count backward_chunk() const {
    return step_->kind == SlotKind::forward_and_backward ? step_->backward_chunk : chunk();
  }
  void advance() {
    if (++step_ != end_) return;
    if (--left_ == 0) return enter(run_ + 1);
    step_ = end_ - (*order_)[run_].size;
  }
  /// The current run; left(): its remaining repetitions.
  const OrderRun& run() const { return (*order_)[run_]; }
  std::size_t run_number() const { return run_; }
  Count left() const { return left_; }
  /// Skips repetitions of the run. Precondition: fewer than left().
  void skip(Count repetitions) { left_ -= repetitions; }

 protected:
  const OrderStep& step() const { return *step_; }

 private:
  void enter(std::size_t run) {
    run_ = run;
    while (!done() && (*order_)[run_].times == 0) ++run_;
    if (done()) return;
    const OrderRun& r = (*order_)[run_];
    step_ = r.steps.data();
    end_ = step_ + r.size;
    left_ = r.times;
  }
  const RankOrder* order_ = nullptr;
  const OrderStep* step_ = nullptr;
  const OrderStep* end_ = nullptr;
  std::size_t run_ = 0;
  Count left_ = 0;
};

/// A position in a rank's order, without micro-batches, for all schedules.
class OrderCursor : public PlainOrderCursor {
 public:
  OrderCursor() = default;
  OrderCursor(const RankOrder& order, const Pipeline& p) : PlainOrderCursor(order), group_(p.ranks), chunks_(p.chunks) {
    turns_.fill({p.ranks, 0});
  }
  Count chunk() const { return step().chunk != OrderStep::by_turns ? step().chunk : turn_of(step().kind); }
  Count backward_chunk() const { return kind() == SlotKind::forward_and_backward ? step().backward_chunk : chunk(); }
  void advance() {
    if (step().chunk == OrderStep::by_turns) pass(turns_[static_cast<std::size_t>(kind())]);
    PlainOrderCursor::advance();
  }

 private:
  /// Number of micro-batches left in the group, and number of chunks before the current one.
  struct Turn {
    Count left = 0, passed = 0;
  };
  Count turn_of(SlotKind k) const {
    const Count passed = turns_[static_cast<std::size_t>(k)].passed;
    return k == SlotKind::forward ? passed : chunks_ - 1 - passed;
  }
  void pass(Turn& t) const {
    if (--t.left > 0) return;
    t = {group_, t.passed + 1 == chunks_ ? 0 : t.passed + 1};
  }
  Count group_ = 1, chunks_ = 1;
  std::array<Turn, 5> turns_{};
};

/// Numbers the micro-batches of a rank's slots: by group if chunks take turns, otherwise consecutively within each
/// chunk.
class SlotNumbering {
 public:
  explicit SlotNumbering(const Pipeline& p) : p_(p) {}
  Slot number(SlotKind kind, Count chunk, Count backward_chunk);

 private:
  enum Part : std::uint8_t { forward, input, weight };
  Count next(Part part, Count chunk);
  Pipeline p_;
  std::array<std::array<Count, 2>, 3> done_{};
  std::array<Count, 3> turns_{};
};

/// Calls visit(const Slot&) for every slot of a rank, in order. Precondition: no flaw, and not automatic.
template <typename Visit>
void for_each_slot(const Pipeline& p, Count rank, Visit visit) {
  const RankOrder order = rank_order(p, rank);
  SlotNumbering numbers(p);
  for (OrderCursor at(order, p); !at.done(); at.advance())
    visit(numbers.number(at.kind(), at.chunk(), at.backward_chunk()));
}

}  // namespace llmcalc
