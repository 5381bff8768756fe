// Contents of a pass.

#include <algorithm>

#include "serve/scheduler.hpp"

namespace llmcalc {

const PassWork& Scheduler::schedule() {
  decide();
  return work_ = pass_work();
}

void Scheduler::decide() {
  look_at_requests();
  budget_ = rules_.pass_tokens;
  chunks_.clear();
  admitted_.clear();
  preempted_.clear();
  moved_blocks_ = 0;
  decodes_ = false;
  rules_.batching == Batching::continuous ? schedule_together() : schedule_apart();
}

void Scheduler::schedule_together() {
  serve({});
  decodes_ = decoding() > 0;
  if (preempted_.empty()) admit();
}

void Scheduler::schedule_apart() {
  if (running_ == 0) filling_ = true;
  serve({.prompts = true, .decoding = false});
  if (preempted_.empty() && (filling_ || rules_.batching == Batching::prompts_first)) admit();
  if (!chunks_.empty()) return;
  filling_ = false;
  serve({.prompts = false, .decoding = true});
  decodes_ = decoding() > 0;
}

void Scheduler::serve(const Served& who) {
  if (!serve_all(who)) serve_in_order(who);
}

/// Serves all sequences in progress if there are enough blocks; otherwise serves no sequence and returns false.
bool Scheduler::serve_all(const Served& who) {
  Count need = who.decoding ? decoding_.new_blocks() + drafting_blocks() : 0;
  Count budget = budget_ - (who.decoding ? decoding() * decoded_tokens() : 0);
  if (who.prompts) {
    for (const SequenceSlot slot : prompts_) {
      const Sequence& s = sequences_[slot];
      const Count n = chunk(s, s.computed, budget);
      if (n == 0) continue;
      need += next_blocks(slot, n);
      budget -= n;
      chunks_.push_back({slot, n});
    }
  }
  if (need > cache_.available()) {
    chunks_.clear();
    return false;
  }
  for (const Chunk& c : chunks_) sequences_[c.slot].held += next_blocks(c.slot, c.tokens);
  if (who.decoding) take_drafting_blocks();
  cache_.take(need);
  budget_ = budget;
  return true;
}

/// Serves sequences in order, and preempts others if blocks run out.
void Scheduler::serve_in_order(const Served& who) {
  for (SequenceSlot i = oldest_; i != no_slot; i = sequences_[i].newer) sequences_[i].served = false;
  for (SequenceSlot i = oldest_; i != no_slot; i = sequences_[i].newer) {
    const State state = sequences_[i].state;
    const bool served = (state == State::prompt && who.prompts) || (state == State::decoding && who.decoding);
    if (served && !serve_next(i)) break;
  }
  if (who.decoding) stall_unserved();
}

/// Serves one sequence. Returns false if the pass can serve no more sequences.
bool Scheduler::serve_next(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  const bool decodes = s.state == State::decoding;
  const Count n = decodes ? decoded_tokens() : chunk(s, s.computed, budget_);
  if (n == 0 || n > budget_) return budget_ > 0;
  const Count need = next_blocks(slot, n);
  while (need > cache_.available()) {
    const SequenceSlot v = victim();
    preempt(v);
    if (v == slot) return false;
  }
  cache_.take(need);
  budget_ -= n;
  s.served = true;
  if (!decodes || rules_.speculation.on()) s.held += need;
  if (decodes) return true;
  chunks_.push_back({slot, n});
  return true;
}

/// Number of tokens in the next prompt chunk of a sequence with `computed` tokens in the cache.
Count Scheduler::chunk(const Sequence& s, Count computed, Count budget) const {
  const Count left = all_tokens(s) - computed;
  return std::min(rules_.chunk_tokens > 0 ? std::min(left, rules_.chunk_tokens) : left, budget);
}

Count Scheduler::next_blocks(SequenceSlot slot, Count tokens) const {
  const Sequence& s = sequences_[slot];
  if (s.state == State::decoding && !rules_.speculation.on())
    return blocks(decoding_.context(slot)) - blocks(decoding_.context(slot) - 1);
  return std::max<Count>(0, blocks(s.computed + tokens) - s.held - s.of_prefix - s.of_own);
}

/// Whether `a` is preempted before `b`.
bool Scheduler::goes_before(SequenceSlot a, SequenceSlot b) const {
  const WaitingQueue::Entry x = entry(a), y = entry(b);
  return x > y;
}

SequenceSlot Scheduler::victim() const {
  SequenceSlot v = no_slot;
  for (SequenceSlot i = newest_; i != no_slot; i = sequences_[i].older) {
    if (sequences_[i].state == State::padding) continue;
    if (rules_.admission == Admission::first_come) return i;
    if (v == no_slot || goes_before(i, v)) v = i;
  }
  return v;
}

void Scheduler::preempt(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  unserve(slot);
  if (s.state == State::decoding)
    stop_decoding(slot);
  else
    prompts_.erase(std::find(prompts_.begin(), prompts_.end(), slot));
  keep(s, s.computed);
  s.swapped = rules_.preemption == Preemption::swap;
  if (s.swapped)
    moved_blocks_ += blocks(s.computed);
  else
    s.computed = 0;
  release(s);
  unlink(slot);
  s.state = State::waiting;
  s.was_preempted = true;
  waiting_.push_front(entry(slot));
  preempted_.push_back(s.id);
}

/// Removes a sequence from the pass without freeing its blocks.
void Scheduler::unserve(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  if (!s.served) return;
  if (s.state == State::decoding) {
    budget_ += decoded_tokens();
    return;
  }
  const auto c = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& x) { return x.slot == slot; });
  budget_ += c->tokens;
  chunks_.erase(c);
}

/// Removes a sequence from the decoding set. If it was served in this pass, it already has blocks for its next token.
void Scheduler::stop_decoding(SequenceSlot slot) {
  if (rules_.speculation.on()) return stop_drafting(slot);
  Sequence& s = sequences_[slot];
  const Count context = decoding_.context(slot);
  s.computed = context - 1;
  s.generated = context - request(s).prompt;
  s.held = blocks(s.served ? context : context - 1) - s.of_prefix - s.of_own;
  const auto joined = std::find_if(joined_.begin(), joined_.end(), [&](const Joined& j) { return j.slot == slot; });
  s.token = joined == joined_.end() ? decoded_ : joined->token;
  if (joined != joined_.end()) joined_.erase(joined);
  decoding_.leave(slot);
}

void Scheduler::stall_unserved() {
  for (SequenceSlot i = oldest_; i != no_slot; i = sequences_[i].newer) {
    Sequence& s = sequences_[i];
    if (s.state != State::decoding || s.served) continue;
    stop_decoding(i);
    s.state = State::stalled;
    stalled_.push_back(i);
  }
}

/// Looks at the requests that have arrived, except within a series of decode passes.
void Scheduler::look_at_requests() {
  const bool decoded = running_ > 0 && decodes_ && chunks_.empty();
  unpolled_ = decoded ? unpolled_ % rules_.poll_passes : 0;
  if (unpolled_ == 0) seen_ = arrivals_;
}

void Scheduler::admit() {
  while (!waiting_.empty() && waiting_.front().arrival < seen_ && budget_ > 0 && running_ < rules_.sequences)
    if (!admit(first_waiting())) return;
}

bool Scheduler::admit(SequenceSlot slot) {
  Sequence& s = sequences_[slot];
  find_chains(s);
  const Hit h = hit(s);
  const Count computed = s.computed + tokens_of(h);
  const Count n = chunk(s, computed, budget_);
  const Count need = blocks(computed + n) - h.blocks();
  const Count room = rules_.whole_prompt_fits ? blocks(all_tokens(s)) - h.blocks() : need;
  if (room + h.idle > cache_.available()) return false;
  waiting_.pop();
  if (s.swapped) moved_blocks_ += blocks(s.computed);
  s.computed = computed;
  s.swapped = false;
  admitted_.push_back({s.id, tokens_of(h), s.was_preempted});
  put_into_progress(slot, h, need);
  chunks_.push_back({slot, n});
  budget_ -= n;
  return true;
}

void Scheduler::put_into_progress(SequenceSlot slot, const Hit& h, Count new_blocks) {
  Sequence& s = sequences_[slot];
  use_chains(s, h);
  s.of_prefix = h.of_prefix;
  s.of_own = h.of_own;
  s.held = new_blocks;
  cache_.take(new_blocks);
  s.state = State::prompt;
  link(slot);
  prompts_.push_back(slot);
}

PassWork Scheduler::pass_work() const {
  PassWork w;
  w.moved_blocks = moved_blocks_;
  for (const Chunk& c : chunks_) {
    const Sequence& s = sequences_[c.slot];
    w.prompt_tokens += c.tokens;
    ++w.chunks;
    w.sampled += s.computed + c.tokens == all_tokens(s) ? 1 : 0;
    w.prompts[0] += chunk_work(s.computed, c.tokens, {});
    if (reach_.limited()) w.prompts[1] += chunk_work(s.computed, c.tokens, reach_);
  }
  if (rules_.speculation.on()) w.drafting = w.sampled;
  if (decodes_) add_decoding(w);
  return w;
}

void Scheduler::add_decoding(PassWork& w) const {
  if (rules_.speculation.on()) return add_drafting(w);
  w.decoding = w.decoded = decoding_.size() + static_cast<Count>(padding_.size());
  w.sampled += w.decoding;
  for (std::size_t i = 0; i < reach_kinds; ++i) {
    if (i == 1 && !reach_.limited()) return;
    w.decodes[i] = decoding_.work(i);
    w.decodes[i] += padding_work_[i];
  }
}

/// Number of passes with the same sequences until one ends or blocks run out.
Count Scheduler::passes_alike() const {
  if (!chunks_.empty() || !stalled_.empty() || !preempted_.empty() || !decodes_ || rules_.speculation.on()) return 1;
  const bool polls = !waiting_.empty() && waiting_.front().arrival >= seen_;
  const Count alike = decoding_.passes_alike(), room = cache_.available();
  const Count most = polls ? std::min(alike, rules_.poll_passes - unpolled_) : alike;
  if (decoding_.later_blocks(most - 1) <= room) return most;
  Count fits = 1, too_many = most;
  while (too_many - fits > 1) {
    const Count middle = fits + (too_many - fits) / 2;
    (decoding_.later_blocks(middle - 1) <= room ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace llmcalc
