#pragma once
/// A batcher that follows vLLM's scheduler, written from vllm/v1/core/sched/scheduler.py (Scheduler.schedule and
/// update_from_output) and docs/configuration/optimization.md, not from serve/:
///   - A pass has a budget of tokens (max_num_batched_tokens).
///   - Sequences in progress come first, in order of admission, each with all tokens not yet computed, within the
///     budget and long_prefill_token_threshold.
///   - A sequence that finds no free cache block preempts the newest sequence in progress, repeatedly until a block is
///     free or it is the newest. A preempted sequence releases its blocks, moves to the front of the queue, and
///     recomputes all its tokens.
///   - If no sequence was preempted, waiting sequences are admitted first come, first served, within the limits of
///     budget, slots (max_num_seqs) and blocks; with scheduler_reserve_full_isl, only if their full prompt fits.
///   - A fully computed sequence receives its next token at the end of the pass, and leaves with its last token.
///   - Requests that arrive during a pass wait for its end.
/// The length of a pass is a function of its content; the caller obtains it from the engine under test.

#include <deque>
#include <functional>
#include <vector>

#include "serve/times/clock.hpp"

namespace llmcalc::oracle {

struct Settings {
  Count budget = 8192, sequences = 1024, threshold = 0, block = 16, blocks = 1 << 30;
  bool reserves_prompt = true;
};
struct Arrival {
  Ticks arrival = 0;
  Count prompt = 1, output = 1;
};
struct Outcome {
  Ticks first = never, last = never;
  Count preemptions = 0;
  bool operator==(const Outcome&) const = default;
};

/// A sequence in a pass: tokens computed before and in it.
struct Scheduled {
  Count past = 0, tokens = 0;
  bool decodes = false;  ///< sampled a token in its previous pass
  bool samples = false;  ///< samples a token
};
using Pass = std::vector<Scheduled>;

class Batcher {
 public:
  Batcher(const Settings& settings, std::vector<Arrival> jobs, std::function<Ticks(const Pass&)> length);
  /// Outcomes in the order of the jobs.
  std::vector<Outcome> run();

 private:
  struct Sequence {
    std::size_t job = 0;
    Count output = 0, computed = 0, blocks = 0, tokens = 0;
    bool decodes = false;
  };
  Count length(const Sequence& s) const { return jobs_[s.job].prompt + s.output; }
  Count wanted(const Sequence& s) const;
  bool reserve(Sequence& s, Count tokens);
  void preempt_newest();
  void schedule_running();
  void admit();
  Pass pass() const;
  void finish(Ticks now);

  Settings settings_;
  std::vector<Arrival> jobs_;
  std::function<Ticks(const Pass&)> length_;
  std::vector<Outcome> outcomes_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;
  Count budget_ = 0, free_ = 0;
  bool preempted_ = false;
};

}  // namespace llmcalc::oracle
