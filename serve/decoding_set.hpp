#pragma once
/// Sequences that decode concurrently, one token per sequence and pass. The work of a pass is stored as sums, so no
/// pass iterates over the sequences. Passes are advanced together until a sequence is added, ends or reaches a border
/// (Border).

#include <array>
#include <tuple>
#include <vector>

#include "serve/scheduler_rules.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc {

/// Index of a sequence in a scheduler.
using SequenceSlot = std::uint32_t;
inline constexpr SequenceSlot no_slot = ~SequenceSlot{0};

/// Counts the blocks that sequences allocate as they grow by one token per pass. A sequence allocates blocks once
/// every `period` passes.
class BlockCycle {
 public:
  explicit BlockCycle(Count period) : by_start_(static_cast<std::size_t>(period)) {}

  /// Adds n blocks per period for a sequence whose context in pass s is start + s.
  void add(Count start, Count n) {
    by_start_[index(start)] += n;
    per_period_ += n;
  }
  /// Number of blocks allocated in a pass.
  Count at(Count step) const { return by_start_[index(1 - step)]; }
  /// Number of blocks allocated in the `passes` passes after `step`.
  Count later(Count step, Count passes) const;

 private:
  Count period() const { return static_cast<Count>(by_start_.size()); }
  std::size_t index(Count n) const { return static_cast<std::size_t>(((n % period()) + period()) % period()); }

  std::vector<Count> by_start_;  ///< blocks allocated per period, by `start` modulo the period
  Count per_period_ = 0;
};

class DecodingSet {
 public:
  DecodingSet(const SchedulerRules& rules, const Reach& reach);

  /// Adds a sequence that ends after `left` >= 1 more tokens. `context`: number of tokens that its next token attends
  /// to, including itself. `order` breaks ties between sequences that end in the same pass.
  void join(SequenceSlot slot, Count order, Count context, Count left);
  void leave(SequenceSlot slot);

  Count size() const { return size_; }
  /// Context of a sequence's next token, and its remaining tokens.
  Count context(SequenceSlot slot) const { return members_[slot].start + step_; }
  Count left(SequenceSlot slot) const { return members_[slot].end - step_; }
  /// Attention work of the next pass, and its growth per pass.
  CoreWork work(std::size_t reach_kind) const { return {size_, keys_[reach_kind], keys_[reach_kind]}; }
  CoreWork growth(std::size_t reach_kind) const { return {0, growing_[reach_kind], growing_[reach_kind]}; }
  /// Number of blocks allocated in the next pass, and in the `passes` passes after it.
  Count new_blocks() const { return whole_.at(step_) + limited_.at(step_); }
  Count later_blocks(Count passes) const { return whole_.later(step_, passes) + limited_.later(step_, passes); }
  /// Number of passes until a sequence ends or reaches a border; at least 1.
  Count passes_alike() const;
  /// Advances by `passes` passes, at most passes_alike(). Finished sequences leave and are appended to `done`.
  void advance(Count passes, std::vector<SequenceSlot>& done);

 private:
  struct Member {
    Count start = 0, end = 0;  ///< the context in pass s is start + s; `end`: the first pass without the sequence
    Count order = 0;
    std::uint32_t stamp = 0;     ///< events with another stamp are outdated
    bool grows = false;          ///< the number of keys that it reads in layers of limited reach grows with its
                                 ///< context
    bool fills_limited = false;  ///< whether it still allocates blocks in the groups of limited reach
    bool present = false;
  };
  enum class Border : std::uint8_t { window, chunk, blocks, end };  // processed in this order within a pass
  struct Event {
    Count pass, order;
    SequenceSlot slot;
    std::uint32_t stamp;
    Border border;
    bool operator>(const Event& o) const { return std::tie(pass, border, order) > std::tie(o.pass, o.border, o.order); }
  };

  void expect(SequenceSlot slot, Count context, Border border);
  void expect_borders(SequenceSlot slot, Count context);
  void cross(SequenceSlot slot, Border border);
  bool pop(Event& event);

  const SchedulerRules& rules_;
  Reach reach_;
  Count saturating_;
  Count step_ = 0, size_ = 0;
  std::array<Count, reach_kinds> keys_{}, growing_{};
  BlockCycle whole_, limited_;
  std::vector<Member> members_;
  std::vector<Event> events_;  ///< a heap, earliest first
};

}  // namespace llmcalc
