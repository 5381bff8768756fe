#pragma once
/// Sequences that decode side by side: each pass gives every one of them a token. What a pass needs is known without a
/// look at each of them, and passes between which none begins, ends or reaches a border are counted off together.

#include <array>
#include <tuple>
#include <vector>

#include "serve/scheduler_rules.hpp"
#include "serve/times/pass_times.hpp"

namespace llmcalc {

/// A place for a sequence in a scheduler.
using SequenceSlot = std::uint32_t;
inline constexpr SequenceSlot no_slot = ~SequenceSlot{0};

class DecodingSet {
 public:
  DecodingSet(const SchedulerRules& rules, const Reach& reach);

  /// Adds a sequence whose next token sees `context` tokens, itself included, and which is done after `left` tokens, at
  /// least 1. `order` tells those apart that are done in the same pass.
  void join(SequenceSlot slot, Count order, Count context, Count left);
  void leave(SequenceSlot slot);

  Count size() const { return size_; }
  /// The context of a sequence's next token, and the tokens that are to come.
  Count context(SequenceSlot slot) const { return members_[slot].start + step_; }
  Count left(SequenceSlot slot) const { return members_[slot].end - step_; }
  /// Work of the next pass, and what each pass adds to it.
  CoreWork work(std::size_t reach_kind) const { return {size_, keys_[reach_kind], keys_[reach_kind]}; }
  CoreWork growth(std::size_t reach_kind) const { return {0, growing_[reach_kind], growing_[reach_kind]}; }
  /// Blocks that the next pass takes, and `passes` passes after it.
  Count new_blocks() const { return by_start_[place(step_)]; }
  Count later_blocks(Count passes) const;
  /// Passes until a sequence is done or reaches a border; at least 1.
  Count passes_alike() const;
  /// Counts off `passes` passes, at most passes_alike(); appends to `done` those that have all their tokens, and they
  /// leave.
  void advance(Count passes, std::vector<SequenceSlot>& done);

 private:
  struct Member {
    Count start = 0, end = 0;  ///< the context of pass number s is start + s; pass number end is the first without it
    Count order = 0;
    std::uint32_t stamp = 0;     ///< of its events that count
    bool grows = false;          ///< its keys in layers of a limited reach
    bool fills_limited = false;  ///< takes blocks of the groups of a limited reach
    bool present = false;
  };
  enum class Border : std::uint8_t { window, chunk, blocks, end };  // of one pass, in this order
  struct Event {
    Count pass, order;
    SequenceSlot slot;
    std::uint32_t stamp;
    Border border;
    bool operator>(const Event& o) const { return std::tie(pass, border, order) > std::tie(o.pass, o.border, o.order); }
  };

  std::size_t place(Count step) const { return static_cast<std::size_t>(wrapped(1 - step)); }
  Count wrapped(Count n) const { return ((n % rules_.block_tokens) + rules_.block_tokens) % rules_.block_tokens; }
  Count weight(const Member& m) const { return rules_.whole_groups + (m.fills_limited ? rules_.limited_groups : 0); }
  Count& blocks_at(const Member& m) { return by_start_[static_cast<std::size_t>(wrapped(m.start))]; }
  void expect(SequenceSlot slot, Count context, Border border);
  void expect_borders(SequenceSlot slot, Count context);
  void cross(SequenceSlot slot, Border border);
  bool pop(Event& event);

  const SchedulerRules& rules_;
  Reach reach_;
  Count saturating_;
  Count step_ = 0, size_ = 0;
  std::array<Count, reach_kinds> keys_{}, growing_{};
  std::vector<Count> by_start_;  ///< blocks taken when a block begins, by start modulo the tokens of a block
  Count per_block_ = 0;          ///< their sum: blocks taken in as many passes as a block has tokens
  std::vector<Member> members_;
  std::vector<Event> events_;  ///< a heap, the next one first
};

}  // namespace llmcalc
