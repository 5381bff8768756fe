#pragma once
/// What a run of a server gave, and its summary.

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "serve/request.hpp"
#include "serve/times/pass_times.hpp"
#include "serve/traffic.hpp"

namespace llmcalc {

/// A pass, or several alike in a row, of one replica; for a log of events.
struct PassRecord {
  std::uint32_t replica = 0, rank = 0;
  Ticks start = 0, end = 0;
  Count passes = 1;
  PassWork work{};                                      ///< of the first
  Count in_progress = 0, waiting = 0, blocks_used = 0;  ///< at its end, before requests leave
};

/// Times between two tokens by length, in bins of which each is 1 % longer than the one before, from 1 us on.
class TokenGaps {
 public:
  void add(Ticks gap, Count tokens);
  /// `tokens` gaps in each of `n` passes, which take `all` together; their length grows evenly from `first` to `last`.
  void add(Ticks first, Ticks last, Ticks all, Count n, Count tokens);
  void add(const TokenGaps& other);
  Count size() const { return size_; }
  Ticks sum() const { return sum_; }
  Seconds mean() const;
  /// The gap that `percent` of all do not exceed, 0 < percent < 100, within 1 %: the mean of its bin's gaps, so that it
  /// lies between the least gap and the greatest.
  Seconds percentile(double percent) const;

 private:
  static constexpr std::size_t bins = 2048;
  struct Bin {
    Count gaps = 0;
    Ticks sum = 0;
  };
  std::array<Bin, bins> bins_{};
  Count size_ = 0;
  Ticks sum_ = 0;
};

/// What a server was doing on average over a stretch of time; all replicas together.
struct Sample {
  Seconds start{}, length{};
  double in_progress = 0, waiting = 0;   ///< requests
  double blocks_used = 0;                ///< of the cache
  double busy = 0;                       ///< replicas that run a pass
  double prompt_tokens = 0, tokens = 0;  ///< of prompts computed, and answered, in all of it
};

/// The integral of one of these averages from one time to another, within a sample as if it were even; `samples` in
/// order of time.
double integral(std::span<const Sample> samples, Seconds from, Seconds to, double Sample::*of);

/// A run in at most 512 samples of equal length, which double when time goes on; the last ends with the run.
class ServerTimeline {
 public:
  struct Stretch {
    Ticks start = 0, end = 0;
    Count in_progress = 0, waiting = 0, blocks_used = 0, busy = 0, prompt_tokens = 0, tokens = 0;
  };
  /// Adds what goes on from `start` to `end`; tokens are spread evenly over it.
  void add(const Stretch& s);
  std::vector<Sample> samples() const;

 private:
  static constexpr std::size_t most = 512;
  void add(const Stretch& s, std::size_t i, double share);
  void widen();
  std::vector<Sample> sums_;  ///< of counts times seconds
  Ticks end_ = 0;
  Ticks width_ = ticks(Seconds(1e-3));
};

/// What a run gave.
struct ServerRun {
  std::vector<AnswerTimes> answers;  ///< in the order of the requests
  TokenGaps gaps;
  ServerTimeline timeline;
  Ticks end = 0;   ///< the last token
  Ticks busy = 0;  ///< time in passes, all replicas together
  Count passes = 0;
  Ticks presence = 0;       ///< time of requests from arrival to the last token, all together
  Count prompt_tokens = 0;  ///< computed, those of preempted sequences once more
  Count tokens = 0;         ///< answered
  Count most_blocks = 0;    ///< used at once on one rank
  bool stopped = false;     ///< before all was answered
};

/// Mean and percentiles of a time.
struct Spread {
  Seconds mean{}, p50{}, p90{}, p95{}, p99{}, p999{};
};
/// The value that `percent` of all do not exceed, 0 < percent < 100: between the two nearest in order, as numpy's
/// default. `values`: ascending, not empty.
Seconds percentile(std::span<const Seconds> values, double percent);
Spread spread(std::vector<Seconds> values);

/// A limit on first tokens and on tokens after it, in seconds; a request meets it if it meets both.
struct Slo {
  Seconds first_token{1e300}, per_token{1e300};
};
/// Whether the answer to a request meets it. Precondition: the request is answered.
bool meets(const Slo& slo, const AnswerTimes& answer, const ServerRequest& request);

/// What rates are made of: the answers whose last token came in a stretch of time.
///
/// Of a closed loop it begins when there were as many answers as there are users, and ends with the last answer that a
/// further request followed: before, users begin, and behind it fewer and fewer ask. Both are ends of requests, of
/// which the first does not count and the last does. Where that is less than half of all answers, and of other traffic,
/// it is the whole run.
struct CountedAnswers {
  Seconds begin{}, time{};                            ///< the stretch and its length
  Count requests = 0, prompt_tokens = 0, tokens = 0;  ///< answered in it, and their tokens
  Count met = 0;                                      ///< requests that meet the limit
  Seconds busy{};                                     ///< time in passes, all replicas together
};

/// Summary of the requests that were answered.
struct Served {
  Count requests = 0;                                        ///< answered
  Count continued = 0;                                       ///< of these, with more than one token
  Spread first_token;                                        ///< from arrival to the first token
  Spread per_token;                                          ///< of the tokens behind the first: their mean, by request
  Spread gap;                                                ///< between two tokens, by token
  Spread latency;                                            ///< from arrival to the last token
  Seconds duration{};                                        ///< from the first arrival to the last token
  CountedAnswers counted;                                    ///< what the rates are made of
  double prompt_rate = 0, token_rate = 0, request_rate = 0;  ///< counted per second: prompts', answered, requests
  double goodput = 0;                                        ///< requests per second that meet the limit
  double met = 0;                                            ///< share of requests that do
  Count preemptions = 0;
  double cached = 0;       ///< share of prompt tokens that were in the cache
  double utilization = 0;  ///< share of the time counted that a replica runs passes, mean over replicas
};
Served served(const ServerRun& run, const RequestTraffic& traffic, Count replicas, const Slo& slo = {});

}  // namespace llmcalc
