// Sequences with speculative decoding. The number of accepted drafts is drawn per sequence and pass, so passes are
// simulated one by one.

#include <algorithm>

#include "serve/scheduler.hpp"

namespace llmcalc {

/// Number of blocks that the next pass allocates. All drafts need blocks, whether accepted or not.
Count Scheduler::drafting_blocks() const {
  Count sum = 0;
  for (const SequenceSlot slot : drafting_) sum += next_blocks(slot, decoded_tokens());
  return sum;
}

void Scheduler::take_drafting_blocks() {
  for (const SequenceSlot slot : drafting_) sequences_[slot].held += next_blocks(slot, decoded_tokens());
}

void Scheduler::stop_drafting(SequenceSlot slot) {
  drafting_.erase(std::find(drafting_.begin(), drafting_.end(), slot));
}

void Scheduler::add_drafting(PassWork& w) const {
  const Count n = decoded_tokens();
  for (const SequenceSlot slot : drafting_) {
    const Sequence& s = sequences_[slot];
    w.decodes[0] += chunk_work(s.computed, n, {});
    if (reach_.limited()) w.decodes[1] += chunk_work(s.computed, n, reach_);
  }
  w.decoding = static_cast<Count>(drafting_.size());
  w.decoded = n * w.decoding;
  w.sampled += w.decoded;
  w.drafting += w.decoding;
}

/// Adds the accepted tokens of a pass to each sequence. They all arrive at the end of the pass; the time since the
/// sequence's last token is divided equally among their gaps.
void Scheduler::verify_drafts(Ticks end) {
  std::size_t kept = 0;
  for (const SequenceSlot slot : drafting_) {
    Sequence& s = sequences_[slot];
    const Count left = answer_tokens(s) - s.generated;
    const Count gain = std::min(left, 1 + accepted_drafts(rules_.speculation, s.random));
    end_.gaps.push_back({gain, (end - s.token) / gain});
    end_.tokens += gain;
    s.generated += gain;
    s.computed = all_tokens(s) - 1;
    s.token = end;
    if (gain == left)
      done_.push_back(slot);
    else
      drafting_[kept++] = slot;
  }
  drafting_.resize(kept);
}

}  // namespace llmcalc
