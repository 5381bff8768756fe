#pragma once
/// Results of a server run and their summary.

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "serve/answer_list.hpp"
#include "serve/gap_bins.hpp"
#include "serve/times/pass_times.hpp"
#include "serve/traffic.hpp"

namespace llmcalc {

/// One pass of a replica, or several consecutive passes with the same sequences, for an event log.
struct PassRecord {
  std::uint32_t replica = 0, rank = 0;
  Ticks start = 0, end = 0;
  Count passes = 1;
  PassWork work{};                                      ///< work of the first pass
  Count in_progress = 0, waiting = 0, blocks_used = 0;  ///< at the end of the last pass, before requests leave
};

/// Histogram of the times between consecutive tokens (gap_bins.hpp).
class TokenGaps {
 public:
  void add(Ticks gap, Count tokens);
  /// Adds `tokens` gaps in each of `n` passes, which take `all` in total; pass times increase linearly from `first` to
  /// `last`.
  void add(Ticks first, Ticks last, Ticks all, Count n, Count tokens);
  void add(const TokenGaps& other);
  Count size() const { return size_; }
  Ticks sum() const { return sum_; }
  Seconds mean() const;
  /// The gap that `percent` of all gaps do not exceed, 0 < percent < 100, within 1 %. Returns the mean gap of its
  /// bin, so the result is between the smallest and the largest gap.
  Seconds percentile(double percent) const;

 private:
  struct Bin {
    Count gaps = 0;
    Ticks sum = 0;
  };
  std::array<Bin, GapBins::size> bins_{};
  Count size_ = 0;
  Ticks sum_ = 0;
};

/// Average state of a server over an interval, all replicas together.
struct Sample {
  Seconds start{}, length{};
  double in_progress = 0, waiting = 0;   ///< requests
  double blocks_used = 0;                ///< blocks of the cache in use
  double busy = 0;                       ///< number of replicas that run a pass
  double prompt_tokens = 0, tokens = 0;  ///< prompt tokens computed, and answer tokens, in the whole interval
};

/// Integral of a member of Sample over a time interval; the value is constant within a sample. Precondition:
/// `samples` are in order of time.
double integral(std::span<const Sample> samples, Seconds from, Seconds to, double Sample::*of);

/// Timeline of a run: at most 512 samples of equal length. The length doubles as the run grows; the last sample ends
/// with the run.
class ServerTimeline {
 public:
  struct Stretch {
    Ticks start = 0, end = 0;
    Count in_progress = 0, waiting = 0, blocks_used = 0, busy = 0, prompt_tokens = 0, tokens = 0;
  };
  /// Adds the activity from `start` to `end`; tokens are spread evenly over it.
  void add(const Stretch& s);
  std::vector<Sample> samples() const;

 private:
  static constexpr std::size_t most = 512;
  std::size_t sample_at(Ticks t);
  void add(const Stretch& s, std::size_t i, double share);
  void widen();
  std::vector<Sample> sums_;  ///< averages multiplied by seconds
  std::size_t near_ = 0;      ///< sample of the last start: most stretches start close to it
  Ticks end_ = 0;
  Ticks width_ = ticks(Seconds(1e-3));
};

/// Results of a run.
struct ServerRun {
  AnswerList answers;
  TokenGaps gaps;
  ServerTimeline timeline;
  Ticks end = 0;   ///< time of the last token
  Ticks busy = 0;  ///< time in passes, all replicas together
  Count passes = 0;
  Ticks presence = 0;       ///< time from arrival to the last token, summed over requests
  Count prompt_tokens = 0;  ///< prompt tokens computed, including recomputation after preemption
  Count tokens = 0;         ///< answer tokens
  Count most_blocks = 0;    ///< maximum number of blocks in use on one rank
  bool stopped = false;     ///< the run ended before all requests were answered
};

/// Mean and percentiles of a time.
struct Spread {
  Seconds mean{}, p50{}, p90{}, p95{}, p99{}, p999{};
};
/// The value that `percent` of all values do not exceed, 0 < percent < 100, interpolated between the two nearest values
/// as in numpy's default method. `values`: ascending, not empty.
Seconds percentile(std::span<const Seconds> values, double percent);
Spread spread(std::vector<Seconds> values);

/// Limits on the time to the first token and on the mean time per further token. A request must meet both.
struct Slo {
  Seconds first_token{1e300}, per_token{1e300};
};
/// Whether an answer of `generate` tokens meets the limits. Precondition: it is complete.
bool meets(const Slo& slo, const AnswerTimes& answer, Count generate);

/// The answers from which rates are computed: answers whose last token falls into an interval.
///
/// For a closed loop, the interval begins when the number of answers reaches the number of users, and ends with the
/// last answer after which another request was sent. Before the interval, users are still starting; after it, fewer
/// and fewer users send requests. Both bounds are ends of answers; the first answer is excluded and the last
/// included. For all other traffic, if the users start together, and if the interval would contain less than half of
/// all answers, it is the whole run.
struct CountedAnswers {
  Seconds begin{}, time{};                            ///< start and length of the interval
  Count requests = 0, prompt_tokens = 0, tokens = 0;  ///< requests answered in the interval, and their tokens
  Count met = 0;                                      ///< requests that meet the limits
  Seconds busy{};                                     ///< time in passes, all replicas together
};

/// Summary of the answered requests.
struct Served {
  Count requests = 0;                                        ///< number of answered requests
  Count continued = 0;                                       ///< number of requests answered with more than one token
  Spread first_token;                                        ///< from arrival to the first token
  Spread per_token;                                          ///< mean time per token after the first, of each request
  Spread gap;                                                ///< between consecutive tokens, over all tokens
  Spread latency;                                            ///< from arrival to the last token
  Seconds duration{};                                        ///< from the first arrival to the last token
  CountedAnswers counted;                                    ///< the answers from which rates are computed
  double prompt_rate = 0, token_rate = 0, request_rate = 0;  ///< per second: prompt tokens, answer tokens, requests
  double goodput = 0;                                        ///< requests per second that meet the limits
  double met = 0;                                            ///< share of requests that meet the limits
  Count preemptions = 0;
  double cached = 0;       ///< share of prompt tokens that were in the cache
  double utilization = 0;  ///< fraction of the counted time in which a replica runs passes, averaged over replicas
};
Served served(const ServerRun& run, const RequestTraffic& traffic, Count replicas, const Slo& slo = {});

}  // namespace llmcalc
