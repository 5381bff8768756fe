#pragma once
/// Decides the contents of each pass of one engine, in the order of vLLM's V1 scheduler
/// (vllm/v1/core/sched/scheduler.py, version 0.19): first the sequences in progress, oldest first, each with its next
/// token or the next chunk of its prompt; then waiting sequences, within the limits on tokens, sequences and blocks.
/// If there is no free block for a sequence in progress, the newest sequence is preempted, and the pass admits no
/// sequence. Times serve only to measure gaps between tokens.

#include <vector>

#include "serve/block_cache.hpp"
#include "serve/decoding_set.hpp"
#include "serve/request_list.hpp"
#include "serve/waiting_queue.hpp"

namespace llmcalc {

/// Progress that a request has made on another engine.
struct Progress {
  Count computed = 0;   ///< tokens whose keys and values arrive with the request
  Count generated = 0;  ///< answer tokens so far
  Ticks token = 0;      ///< time of its last token
};

/// Results at the end of passes.
struct PassEnd {
  std::vector<RequestId> first;  ///< requests that got their first token
  std::vector<RequestId> last;   ///< requests that got their last token on this engine
  Count tokens = 0;              ///< answer tokens
  /// `tokens` gaps of length `time` between consecutive tokens of a sequence that ended in the first of the passes.
  /// In every later pass, each decoding sequence has one more gap, of the length of the pass.
  struct Gap {
    Count tokens;
    Ticks time;
  };
  std::vector<Gap> gaps;
};

/// End times of the first and the last of several consecutive passes.
struct PassEnds {
  Ticks first = 0, last = 0;
};

class Scheduler {
 public:
  /// The requests must outlive the scheduler. Preconditions: each arriving request fits into the blocks if no other
  /// request is in progress; lengths and limits are positive; sequences x (1 + drafts) <= pass_tokens; a fixed batch
  /// has no drafts.
  Scheduler(const SchedulerRules& rules, const Reach& reach, const RequestList& requests);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void arrive(RequestId id, const Progress& progress = {});
  /// Whether no sequence is in progress or waiting.
  bool idle() const { return in_progress() == 0 && waiting() == 0; }

  /// Decides the next pass and allocates its blocks.
  const PassWork& schedule();
  const PassWork& work() const { return work_; }
  /// Number of consecutive times that the pass can run if no request arrives, at most until the engine looks at
  /// waiting requests; 1 unless all of its sequences only decode.
  Count passes_alike() const;
  CoreGrowth growth() const { return {decoding_.growth(0), decoding_.growth(1)}; }
  /// Records that the pass ran `passes` times, at most passes_alike().
  const PassEnd& finish(Count passes, const PassEnds& ends);

  Count in_progress() const { return running_; }
  /// Number of finished sequences that remain in progress as rows of padding in a fixed batch.
  Count answered() const { return static_cast<Count>(padding_.size()); }
  Count waiting() const { return waiting_.size(); }
  Count blocks_used() const { return cache_.used(); }
  Count most_blocks() const { return most_blocks_; }
  /// A sequence that starts in the decided pass, and the number of its prompt tokens found in the cache.
  struct Admitted {
    RequestId id;
    Count cached;
    bool was_preempted;  ///< readmitted after a preemption
  };
  const std::vector<Admitted>& admitted() const { return admitted_; }
  /// Requests that the decided pass preempted.
  const std::vector<RequestId>& preempted() const { return preempted_; }

 private:
  enum class State : std::uint8_t { waiting, prompt, decoding, stalled, padding };
  struct Sequence {
    RequestId id = no_request;
    ServerRequest request{};
    State state = State::waiting;
    bool served = false;  ///< served in the current pass; used only if the pass is decided sequence by sequence
    bool was_preempted = false;
    bool swapped = false;                           ///< its cache is in host memory
    Count computed = 0;                             ///< tokens in the cache; not maintained while it decodes
    Count generated = 0;                            ///< answer tokens; not maintained while it decodes
    Count held = 0;                                 ///< blocks outside chains; not maintained while it decodes
    Count of_prefix = 0, of_own = 0;                ///< blocks of its chains that it uses
    ChainId prefix = no_chain;                      ///< its last part; earlier parts are the parents
    BlockCache::Chain own = BlockCache::none;       ///< chain of its session or of the request alone
    Count order = 0;                                ///< position in the order of admission
    std::uint32_t arrival = 0;                      ///< position in the order of arrival
    Ticks token = 0;                                ///< time of its last token; not maintained while it decodes
    Random random{0};                               ///< for its drafts
    SequenceSlot older = no_slot, newer = no_slot;  ///< neighbors in the list of sequences in progress
  };
  struct Chunk {
    SequenceSlot slot;
    Count tokens;
  };
  /// The kinds of sequences in progress that a pass serves.
  struct Served {
    bool prompts = true, decoding = true;
  };
  /// Cached blocks that hold the first tokens of a sequence.
  struct Hit {
    Count of_prefix = 0, of_own = 0;
    Count idle = 0;  ///< the part of these blocks that also counts as available
    Count blocks() const { return of_prefix + of_own; }
  };
  /// Number of tokens in the blocks of a hit; 0 if the cache holds only states.
  Count tokens_of(const Hit& h) const {
    return h.blocks() == 0 ? 0 : h.blocks() / rules_.whole_groups * rules_.block_tokens;
  }

  static const ServerRequest& request(const Sequence& s) { return s.request; }
  Count all_tokens(const Sequence& s) const { return request(s).prompt + s.generated; }
  Count answer_tokens(const Sequence& s) const { return rules_.prompts_only ? 1 : request(s).generate; }
  /// Number of decoding sequences. decoded_tokens(): tokens of each in a pass.
  Count decoding() const { return decoding_.size() + static_cast<Count>(drafting_.size()); }
  Count decoded_tokens() const { return 1 + rules_.speculation.length; }
  Count blocks(Count tokens) const { return blocks_of(rules_, reach_, tokens); }
  WaitingQueue::Entry entry(SequenceSlot slot) const;
  SequenceSlot new_slot(RequestId id, std::uint32_t arrival);
  SequenceSlot first_waiting();

  // scheduling.cpp: contents of a pass
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
  void look_at_requests();
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

  // scheduler.cpp: results of a pass
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

  // chains.cpp: cached blocks
  void find_chains(Sequence& s);
  template <typename Use>
  void for_each_part(const Sequence& s, const Use& use);
  Count prefix_blocks(const Sequence& s) const;
  Hit hit(const Sequence& s);
  Count used_of_part(const Hit& h, Count begin, Count end) const;
  void use_chains(const Sequence& s, const Hit& h);
  void keep(Sequence& s, Count tokens);
  void release(Sequence& s);
  void drop_chains(Sequence& s);

  const SchedulerRules rules_;
  const Reach reach_;
  const RequestList& requests_;
  BlockCache cache_;
  DecodingSet decoding_;
  WaitingQueue waiting_;
  std::vector<Sequence> sequences_;
  std::vector<SequenceSlot> unused_, prompts_, stalled_, done_, padding_;
  std::vector<SequenceSlot> drafting_;  ///< sequences that decode with drafts; all other decoding sequences are in
                                        ///< decoding_
  std::vector<Chunk> chunks_;
  std::vector<Admitted> admitted_;
  std::vector<RequestId> preempted_;
  struct Joined {
    SequenceSlot slot;
    Ticks token;
  };
  std::vector<Joined> joined_;  ///< decoding sequences whose last token does not come from the last decode pass
  SequenceSlot oldest_ = no_slot, newest_ = no_slot;
  Count running_ = 0, budget_ = 0, order_ = 0, moved_blocks_ = 0, most_blocks_ = 0;
  std::uint32_t arrivals_ = 0;
  std::uint32_t seen_ = 0;  ///< requests that the engine has looked at: all that arrived before this position
  Count unpolled_ = 0;      ///< decode passes since the last look
  bool decodes_ = false;    ///< the decided pass has decoding sequences
  bool filling_ = true;     ///< fixed batches: the current batch has not begun to decode
  Ticks decoded_ = 0;       ///< end of the last decode pass
  std::array<CoreWork, reach_kinds> padding_work_{};
  PassWork work_;
  PassEnd end_;
};

}  // namespace llmcalc
