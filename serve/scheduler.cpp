#include "serve/scheduler.hpp"

#include <algorithm>

namespace llmcalc {

Scheduler::Scheduler(const SchedulerRules& rules, const Reach& reach, const RequestList& requests)
    : rules_(rules),
      reach_(reach),
      requests_(requests),
      cache_(rules.blocks),
      decoding_(rules_, reach_),
      waiting_(rules.admission) {}

WaitingQueue::Entry Scheduler::entry(SequenceSlot slot) const {
  const Sequence& s = sequences_[slot];
  return {request(s).priority, s.arrival, s.id, slot};
}

SequenceSlot Scheduler::new_slot(RequestId id, std::uint32_t arrival) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<SequenceSlot>(sequences_.size()));
    sequences_.emplace_back();
  }
  const SequenceSlot slot = unused_.back();
  unused_.pop_back();
  Sequence& s = sequences_[slot] = {.id = id, .request = requests_[id], .arrival = arrival};
  if (rules_.speculation.on()) s.random = draft_random(rules_.speculation, id);
  return slot;
}

/// The slot of the first waiting request. Allocates a slot if the request has none.
SequenceSlot Scheduler::first_waiting() {
  WaitingQueue::Entry& e = waiting_.front();
  if (e.slot == no_slot) e.slot = new_slot(e.id, e.arrival);
  return e.slot;
}

/// Adds a request. A slot is not needed before its admission, unless it has made progress.
void Scheduler::arrive(RequestId id, const Progress& progress) {
  const std::uint32_t arrival = arrivals_++;
  if (progress.generated == 0) return waiting_.push({requests_.priority(id), arrival, id});
  const SequenceSlot slot = new_slot(id, arrival);
  Sequence& s = sequences_[slot];
  s.computed = progress.computed;
  s.generated = progress.generated;
  s.token = progress.token;
  waiting_.push(entry(slot));
}

void Scheduler::link(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  s.order = order_++;
  s.older = newest_;
  s.newer = no_slot;
  (newest_ == no_slot ? oldest_ : sequences_[newest_].newer) = slot;
  newest_ = slot;
  ++running_;
}

void Scheduler::unlink(SequenceSlot slot) {
  const Sequence& s = sequences_[slot];
  (s.older == no_slot ? oldest_ : sequences_[s.older].newer) = s.newer;
  (s.newer == no_slot ? newest_ : sequences_[s.newer].older) = s.older;
  --running_;
}

const PassEnd& Scheduler::finish(Count passes, const PassEnds& ends) {
  end_.first.clear();
  end_.last.clear();
  end_.gaps.clear();
  end_.tokens = 0;
  done_.clear();
  unpolled_ += passes;
  if (decodes_) rules_.speculation.on() ? verify_drafts(ends.last) : advance(passes, ends);
  most_blocks_ = std::max(most_blocks_, cache_.used());
  end_chunks(ends.last);
  for (const SequenceSlot slot : stalled_) decode(slot);
  stalled_.clear();
  end_done();
  return end_;
}

void Scheduler::advance(Count passes, const PassEnds& ends) {
  const Count n = decoding_.size();
  cache_.take(decoding_.later_blocks(passes - 1));
  note_gaps(ends.first);
  end_.tokens += passes * n;
  decoded_ = ends.last;
  decoding_.advance(passes, done_);
  for (const SequenceSlot slot : done_) {
    Sequence& s = sequences_[slot];
    s.generated = answer_tokens(s);
    s.computed = all_tokens(s) - 1;
    s.held = blocks(s.computed) - s.of_prefix - s.of_own;
  }
}

void Scheduler::note_gaps(Ticks end) {
  Count others = decoding_.size();
  for (const Joined& j : joined_) {
    end_.gaps.push_back({1, end - j.token});
    --others;
  }
  joined_.clear();
  if (others > 0) end_.gaps.push_back({others, end - decoded_});
}

void Scheduler::end_chunks(Ticks end) {
  bool ended = false;
  for (const Chunk& c : chunks_) {
    Sequence& s = sequences_[c.slot];
    s.computed += c.tokens;
    keep(s, s.computed);
    if (s.computed < all_tokens(s)) continue;
    ended = true;
    give_token(c.slot, end);
  }
  if (!ended) return;
  const auto decodes = [&](SequenceSlot slot) { return sequences_[slot].state != State::prompt; };
  prompts_.erase(std::remove_if(prompts_.begin(), prompts_.end(), decodes), prompts_.end());
}

/// Adds the token that the pass with a prompt's last chunk produces.
void Scheduler::give_token(SequenceSlot slot, Ticks end) {
  Sequence& s = sequences_[slot];
  ++s.generated;
  ++end_.tokens;
  if (s.generated == 1)
    end_.first.push_back(s.id);
  else
    end_.gaps.push_back({1, end - s.token});
  if (s.generated < answer_tokens(s)) {
    s.token = end;
    return decode(slot);
  }
  s.state = State::decoding;
  done_.push_back(slot);
}

void Scheduler::decode(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  s.state = State::decoding;
  if (rules_.speculation.on()) return drafting_.push_back(slot);
  if (s.token != decoded_) joined_.push_back({slot, s.token});
  decoding_.join(slot, s.order, all_tokens(s), answer_tokens(s) - s.generated);
}

void Scheduler::end_done() {
  std::sort(done_.begin(), done_.end(),
            [&](SequenceSlot a, SequenceSlot b) { return sequences_[a].order < sequences_[b].order; });
  for (const SequenceSlot slot : done_) {
    end_.last.push_back(sequences_[slot].id);
    end(slot);
  }
  if (padding_.empty() || running_ > static_cast<Count>(padding_.size())) return;
  for (const SequenceSlot slot : padding_) leave(slot);
  padding_.clear();
  padding_work_ = {};
}

/// Ends a sequence. In a fixed batch, it remains as a row of padding until the last sequence of the batch has
/// finished.
void Scheduler::end(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  keep(s, s.computed);
  if (rules_.batching != Batching::fixed) return leave(slot);
  s.state = State::padding;
  padding_.push_back(slot);
  padding_work_[0] += CoreWork{1, all_tokens(s), all_tokens(s)};
  if (!reach_.limited()) return;
  const Count seen = reach_.seen(all_tokens(s) - 1);
  padding_work_[1] += CoreWork{1, seen, seen};
}

void Scheduler::leave(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  release(s);
  drop_chains(s);
  unlink(slot);
  s.state = State::waiting;
  unused_.push_back(slot);
}

}  // namespace llmcalc
