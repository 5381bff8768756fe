#pragma once
/// Capacity of a server, computed without a simulation from the same pass times and scheduler rules.
///
/// A request of P prompt and G answer tokens, with Q prompt tokens in the cache, takes part in (G - 1) / e decode
/// passes of e tokens each (1 without drafts), and in c = (P - Q) / (tokens of a chunk) prompt passes; a chunk is at
/// most the part of a pass that decoding sequences leave free.
///   capacity   k / T(k), where k requests begin in every pass of T(k) seconds: the largest k for which one pass can
///             hold the tokens, sequences and blocks of all passes of k requests. Blocks of a prefix that all prompts
///             share count once
/// Ranks that step together, and micro-batches of a pipeline, wait for the one with the most chunks. At r requests
/// per second and passes of t seconds, the number of chunks of each is Poisson-distributed with mean r t c. With R
/// ranks, the maximum is at most j with probability P(j)^R, where P is the cumulative distribution. If prompt lengths
/// vary, with a squared coefficient of variation w, the tokens are modeled as fewer prompts that are (1 + w) times as
/// long, which have the same mean and variance. At any time, a decoding sequence is observed with a probability
/// proportional to its length, so memory and reads count G (1 + v) times. If only one sequence is in progress at a
/// time, each pass has one request.
///
/// With sessions, the cached part of a prompt shrinks as the rate grows: more sessions are alive (Little's law: rate x
/// (time in progress + think time)), and requests in progress leave less space for cached histories
/// (serve/session_cache.hpp). Fewer hits make passes longer, so even more requests are in progress. The capacity is
/// the highest rate at which this converges. Above it, hits vanish, and the rate can no longer be sustained.
///
/// Excludes preemption and other effects of varying lengths. Does not model fixed batches, whose sequences wait for
/// each other, or latency: in simulations, the mean pass time is 0.65 to 1.8 times the time between tokens while long
/// prompts are processed. Use a simulation for latencies.

#include <optional>

#include "serve/fleet/fleet.hpp"
#include "serve/session_cache.hpp"

namespace llmcalc {

/// Mean traffic.
struct SteadyLoad {
  double rate = 0;                             ///< requests per second, all replicas together
  double prompt = 1, generate = 1;             ///< mean numbers of tokens, at least 1 each
  double cached = 0;                           ///< mean number of prompt tokens found in the cache, below `prompt`
  std::optional<double> cached_at_capacity{};  ///< `cached` at capacity, if different, as for sessions from a log
  Sessions sessions{};          ///< sessions, whose histories are cached at capacity in addition to `shared`
  Count shared = 0;             ///< length in tokens of the prefix that all prompts share
  double variation = 0;         ///< squared coefficient of variation of the time in progress; 0: constant, 1:
                                ///< exponential
  double prompt_variation = 0;  ///< squared coefficient of variation of the new tokens of prompts
};

/// The limit that determines the capacity of a pass.
enum class SteadyLimit : std::uint8_t { tokens, sequences, blocks };
template <>
inline constexpr auto choices<SteadyLimit> =
    std::array{Choice{SteadyLimit::tokens, "tokens per pass"}, Choice{SteadyLimit::sequences, "concurrent sequences"},
               Choice{SteadyLimit::blocks, "KV cache blocks"}};

struct SteadyState {
  double capacity = 0;  ///< requests per second, all replicas together
  SteadyLimit limit = SteadyLimit::tokens;
  double ranks = 1;                                       ///< number of ranks that process requests, in all replicas
  double begun = 0;                                       ///< k: number of requests that begin in a pass of one rank at
                                                          ///< capacity
  double by_tokens = 0, by_sequences = 0, by_blocks = 0;  ///< k under each limit
  Seconds full_pass{};                                    ///< time of a pass at capacity, T(k)
  double decodes = 0;                                     ///< number of decode passes of a request: (G - 1) / e
  std::optional<double> kept{};  ///< sessions: share of turns that find their history, at capacity
  double load = 0;               ///< ratio of rate to capacity
  double growth = 0;             ///< growth of the queue in requests per second; 0 below capacity
  /// Maximum relative error above and below simulated servers (tests/cli/serve_capacity_test.cpp): 1/8. Above: 1/4
  /// for sessions without think time, whose queue evicts the histories that they need. Below: 0.3 for identical
  /// requests, which reach several ranks more evenly than at random.
  double above = 0.125, below = 0.125;
  /// Bounds on the capacity of a simulated server.
  double least_capacity() const { return capacity / (1 + above); }
  double most_capacity() const { return capacity / (1 - below); }
};
SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load);

}  // namespace llmcalc
