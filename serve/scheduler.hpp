#pragma once
/// Decides what each pass of one engine holds, in the order of vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py,
/// version 0.19): first the sequences in progress, oldest first, each with its next token or the next chunk of its
/// prompt; then those that wait, while tokens, sequences and blocks last. Where blocks run out for a sequence in
/// progress, the newest is preempted, and nothing is admitted in that pass. It knows times only to tell how long
/// sequences waited between two tokens.

#include <span>
#include <vector>

#include "serve/block_cache.hpp"
#include "serve/decoding_set.hpp"
#include "serve/waiting_queue.hpp"

namespace llmcalc {

/// How far a request has come elsewhere.
struct Progress {
  Count computed = 0;   ///< tokens whose keys and values arrive with it
  Count generated = 0;  ///< answered tokens
  Ticks token = 0;      ///< when it had the last of them
};

/// What the end of passes brings.
struct PassEnd {
  std::vector<RequestId> first;  ///< requests that have their first token
  std::vector<RequestId> last;   ///< requests that have all, or leave for another engine
  Count tokens = 0;              ///< answered
  /// Times between two tokens of a sequence: so many of them as long, of those that ended in the first of the passes.
  /// In every further pass each decoding sequence has another one, as long as the pass.
  struct Gap {
    Count tokens;
    Ticks time;
  };
  std::vector<Gap> gaps;
};

/// When the first and the last of some passes ended.
struct PassEnds {
  Ticks first = 0, last = 0;
};

class Scheduler {
 public:
  /// The requests must outlive it. Preconditions: every request that arrives fits into the blocks alone; lengths and
  /// limits are positive; sequences x (1 + drafts) <= pass_tokens; a fixed batch has no drafts.
  Scheduler(const SchedulerRules& rules, const Reach& reach, std::span<const ServerRequest> requests);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void arrive(RequestId id, const Progress& progress = {});
  /// Whether nobody is in progress or waits.
  bool idle() const { return in_progress() == 0 && waiting() == 0; }

  /// Decides the next pass, and takes its blocks.
  const PassWork& schedule();
  const PassWork& work() const { return work_; }
  /// How often that pass can run in a row, if nobody arrives: each sequence in it decodes, and nothing else changes.
  Count passes_alike() const;
  CoreGrowth growth() const { return {decoding_.growth(0), decoding_.growth(1)}; }
  /// The pass has run `passes` times, at most passes_alike().
  const PassEnd& finish(Count passes, const PassEnds& ends);

  Count in_progress() const { return running_; }
  /// Of these, sequences of a fixed batch that are answered and leave a row of padding.
  Count answered() const { return static_cast<Count>(padding_.size()); }
  Count waiting() const { return waiting_.size(); }
  Count blocks_used() const { return cache_.used(); }
  Count most_blocks() const { return most_blocks_; }
  /// Sequences that the decided pass begins with, and tokens of their prompts that were in the cache.
  struct Admitted {
    RequestId id;
    Count cached;
    bool again;  ///< after a preemption
  };
  const std::vector<Admitted>& admitted() const { return admitted_; }
  /// Requests that the decided pass had to give up for now.
  const std::vector<RequestId>& preempted() const { return preempted_; }

 private:
  enum class State : std::uint8_t { waiting, prompt, decoding, stalled, padding };
  struct Sequence {
    RequestId id = no_request;
    State state = State::waiting;
    bool served = false;              ///< in a pass that is decided one sequence after another
    bool again = false;               ///< was preempted
    bool swapped = false;             ///< its cache is with the host
    Count computed = 0;               ///< tokens in the cache, while it does not decode
    Count generated = 0;              ///< the same
    Count held = 0;                   ///< blocks that are in no chain, while it does not decode
    Count of_prefix = 0, of_own = 0;  ///< blocks of its chains that it uses
    BlockCache::Chain prefix = BlockCache::none, own = BlockCache::none;
    Count order = 0;                                ///< of admission
    Count arrival = 0;                              ///< rank of its arrival
    Ticks token = 0;                                ///< when it had its last token, while it does not decode
    Random random{0};                               ///< of its drafts
    SequenceSlot older = no_slot, newer = no_slot;  ///< in progress
  };
  struct Chunk {
    SequenceSlot slot;
    Count tokens;
  };
  /// Sequences in progress that a pass serves.
  struct Served {
    bool prompts = true, decoding = true;
  };
  /// Blocks of a sequence's chains that hold the beginning of its tokens.
  struct Hit {
    Count of_prefix = 0, of_own = 0;
    Count idle = 0;  ///< of the chains, blocks that count as available
    Count blocks() const { return of_prefix + of_own; }
  };
  /// Tokens in the blocks of a hit; of states alone there is none.
  Count tokens_of(const Hit& h) const {
    return h.blocks() == 0 ? 0 : h.blocks() / rules_.whole_groups * rules_.block_tokens;
  }

  const ServerRequest& request(const Sequence& s) const { return requests_[s.id]; }
  Count all_tokens(const Sequence& s) const { return request(s).prompt + s.generated; }
  Count answer_tokens(const Sequence& s) const { return rules_.prompts_only ? 1 : request(s).generate; }
  /// Sequences that decode, and their tokens in a pass.
  Count decoding() const { return decoding_.size() + static_cast<Count>(drafting_.size()); }
  Count decoded_tokens() const { return 1 + rules_.speculation.length; }
  Count blocks(Count tokens) const { return blocks_of(rules_, reach_, tokens); }
  WaitingQueue::Entry entry(SequenceSlot slot) const;
  SequenceSlot new_slot();

  // scheduling.cpp: what a pass holds
  void decide();
  void schedule_together();
  void schedule_apart();
  void serve(const Served& who);
  bool serve_all(const Served& who);
  void serve_in_order(const Served& who);
  bool serve_next(SequenceSlot slot);
  Count chunk(const Sequence& s, Count computed, Count budget) const;
  Count next_blocks(SequenceSlot slot, Count tokens) const;
  SequenceSlot victim() const;
  bool goes_before(SequenceSlot a, SequenceSlot b) const;
  void preempt(SequenceSlot slot);
  void unserve(SequenceSlot slot);
  void stop_decoding(SequenceSlot slot);
  void stall_unserved();
  void admit();
  bool admit(SequenceSlot slot);
  void put_into_progress(SequenceSlot slot, const Hit& hit, Count new_blocks);
  PassWork pass_work() const;
  void add_decoding(PassWork& w) const;

  // drafting.cpp: sequences whose drafts are verified
  Count drafting_blocks() const;
  void take_drafting_blocks();
  void stop_drafting(SequenceSlot slot);
  void add_drafting(PassWork& w) const;
  void verify_drafts(Ticks end);

  // scheduler.cpp: what it brings
  void advance(Count passes, const PassEnds& ends);
  void note_gaps(Ticks end);
  void end_chunks(Ticks end);
  void give_token(SequenceSlot slot, Ticks end);
  void decode(SequenceSlot slot);
  void end_done();
  void end(SequenceSlot slot);
  void leave(SequenceSlot slot);
  void link(SequenceSlot slot);
  void unlink(SequenceSlot slot);

  // chains.cpp: what is kept of the cache
  void find_chains(Sequence& s);
  Hit hit(const Sequence& s) const;
  void keep(Sequence& s, Count tokens);
  void release(Sequence& s);
  void drop_chains(Sequence& s);

  const SchedulerRules rules_;
  const Reach reach_;
  std::span<const ServerRequest> requests_;
  BlockCache cache_;
  DecodingSet decoding_;
  WaitingQueue waiting_;
  std::vector<Sequence> sequences_;
  std::vector<SequenceSlot> unused_, prompts_, stalled_, done_, padding_;
  std::vector<SequenceSlot> drafting_;  ///< sequences that decode with drafts; the others are in decoding_
  std::vector<Chunk> chunks_;
  std::vector<Admitted> admitted_;
  std::vector<RequestId> preempted_;
  struct Joined {
    SequenceSlot slot;
    Ticks token;
  };
  std::vector<Joined> joined_;  ///< sequences whose last token came not with those of the last decode pass
  SequenceSlot oldest_ = no_slot, newest_ = no_slot;
  Count running_ = 0, budget_ = 0, order_ = 0, arrivals_ = 0, moved_blocks_ = 0, most_blocks_ = 0;
  bool decodes_ = false;  ///< the decided pass has decoding sequences
  bool filling_ = true;   ///< a fixed batch that has not begun to decode
  Ticks decoded_ = 0;     ///< end of the last decode pass
  std::array<CoreWork, reach_kinds> padding_work_{};
  PassWork work_;
  PassEnd end_;
};

}  // namespace llmcalc
