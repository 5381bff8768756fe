#pragma once
/// The capacity of a server without a simulation, from the same times of passes and the same rules.
///
/// A request of P prompt and G answer tokens, of whose prompt Q are in the cache, takes part in (G - 1) / e passes that
/// decode, e tokens each (1 without drafts), and in c = (P - Q) / (tokens of a chunk) passes of its prompt; a chunk is
/// what decoding sequences leave of a pass, at most.
///   capacity   k / T(k), k requests per pass: the largest k at which the tokens, sequences and blocks of k requests'
///              passes fit into one pass; blocks of a prefix that all prompts share count once
/// Ranks that step together, and micro-batches of a pipeline, wait for the one that has most chunks: with R of them,
/// each with a Poisson number of mean r t c at a rate of r requests and passes of t seconds, a pass has at most j with
/// the probability P(j)^R. Where prompts differ, with a squared coefficient of variation w, their tokens come as those
/// of fewer and longer ones, (1 + w) as long: the same mean and variance. A decoding sequence is met with the
/// probability of its length: G counts (1 + v) times in what it holds and reads. Of one place, a request is alone in
/// each of its passes.
///
/// Of sessions the cache has the less of a prompt the more come: more are alive (Little's law: rate x (time in progress
/// + think time)), and what is in progress leaves less room to the others (serve/session_cache.hpp). Fewer hits make
/// passes longer, so that still more are in progress. The capacity is the most rate at which this has an end: beyond it
/// the cache is lost, and with it the rate that it made possible.
///
/// Left out: preemption and other effects of lengths that differ. It is no theory of fixed batches, which wait for each
/// other, nor of how long requests take: prompts that wait for one another leave their queue to the tokens behind them,
/// and a mean pass is 0.65 to 1.8 times what tokens of long prompts wait for in simulations. These have the times.

#include <optional>

#include "serve/fleet/fleet.hpp"
#include "serve/session_cache.hpp"

namespace llmcalc {

/// Mean traffic.
struct SteadyLoad {
  double rate = 0;                             ///< requests per second, all replicas together
  double prompt = 1, generate = 1;             ///< tokens, at least 1 each
  double cached = 0;                           ///< tokens of a prompt that are in the cache, below `prompt`
  std::optional<double> cached_at_capacity{};  ///< the same at capacity, where it differs: of a log's sessions
  Sessions sessions{};                         ///< whose history is found beside `shared`, at capacity
  Count shared = 0;                            ///< tokens with which all prompts begin
  double variation = 0;  ///< of the time in progress: its variance over its squared mean; 0: all alike, 1: exponential
  double prompt_variation = 0;  ///< the same of the prompts' new tokens
};

/// What keeps a pass from holding more.
enum class SteadyLimit : std::uint8_t { tokens, sequences, blocks };
template <>
inline constexpr auto choices<SteadyLimit> =
    std::array{Choice{SteadyLimit::tokens, "tokens of a pass"}, Choice{SteadyLimit::sequences, "sequences in progress"},
               Choice{SteadyLimit::blocks, "blocks of the cache"}};

struct SteadyState {
  double capacity = 0;  ///< requests per second, all replicas together
  SteadyLimit limit = SteadyLimit::tokens;
  double ranks = 1;                                       ///< that hold requests, of all replicas
  double begun = 0;                                       ///< k: requests that begin in a pass of one rank at capacity
  double by_tokens = 0, by_sequences = 0, by_blocks = 0;  ///< k, by each limit
  Seconds full_pass{};                                    ///< T(k)
  double decodes = 0;                                     ///< passes of a request behind its prompt: (G - 1) / e
  std::optional<double> kept{};                           ///< of sessions: turns that find their history, at capacity
  double load = 0;                                        ///< rate over capacity
  double growth = 0;  ///< requests per second by which the queue grows; 0 below capacity
  /// By how much the capacity is above and below that of simulated servers, at most
  /// (tests/cli/serve_capacity_test.cpp): an eighth; 1/4 above of sessions without think time, whose queue empties the
  /// cache that they need; 0.3 below of requests that are all alike, which reach several ranks more evenly than at
  /// random.
  double above = 0.125, below = 0.125;
  /// The ends of what a simulated server answers.
  double least_capacity() const { return capacity / (1 + above); }
  double most_capacity() const { return capacity / (1 - below); }
};
SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load);

}  // namespace llmcalc
