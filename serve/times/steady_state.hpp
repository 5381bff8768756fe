#pragma once
/// The capacity of a server without a simulation, from the same pass times and the same rules.
///
/// A request of P prompt and G answer tokens, with Q prompt tokens in the cache, takes part in (G - 1) / e decode
/// passes of e tokens each (1 without drafts), and in c = (P - Q) / (tokens of a chunk) passes of its prompt; a chunk
/// is at most the part of a pass that decoding sequences leave.
///   capacity   k / T(k), k requests per pass: the largest k at which the tokens, sequences and blocks of k requests'
///              passes fit into one pass; blocks of a prefix that all prompts share count once
/// Ranks that step together, and micro-batches of a pipeline, wait for the one with most chunks: with R of them, each
/// with a Poisson number of mean r t c at a rate of r requests and passes of t seconds, a pass has at most j with
/// probability P(j)^R. If prompt lengths vary, with a squared coefficient of variation w, the tokens are modelled as
/// fewer and longer prompts, (1 + w) as long: the same mean and variance. A decoding sequence is observed with a
/// probability proportional to its length: G counts (1 + v) times in memory and reads. If only one sequence is in
/// progress, each pass holds one request.
///
/// With sessions, the cached part of a prompt shrinks as the rate grows: more sessions are alive (Little's law: rate x
/// (time in progress + think time)), and requests in progress leave less space to the others (serve/session_cache.hpp).
/// Fewer hits make passes longer, so still more requests are in progress. The capacity is the highest rate at which
/// this converges: beyond it the cache is lost, and with it the rate that it made possible.
///
/// Excludes preemption and other effects of varying lengths. Not a model of fixed batches, which wait for each other,
/// nor of latency: prompts that wait for one another leave their queue to the tokens after them, and a mean pass is
/// 0.65 to 1.8 times the wait of tokens of long prompts in simulations. Simulations give these times.

#include <optional>

#include "serve/fleet/fleet.hpp"
#include "serve/session_cache.hpp"

namespace llmcalc {

/// Mean traffic.
struct SteadyLoad {
  double rate = 0;                             ///< requests per second, all replicas together
  double prompt = 1, generate = 1;             ///< tokens, at least 1 each
  double cached = 0;                           ///< tokens of a prompt in the cache, below `prompt`
  std::optional<double> cached_at_capacity{};  ///< the same at capacity, if different: for sessions of a log
  Sessions sessions{};   ///< sessions whose history is cached in addition to `shared`, at capacity
  Count shared = 0;      ///< tokens at the beginning that all prompts share
  double variation = 0;  ///< of the time in progress: its variance over its squared mean; 0: constant, 1: exponential
  double prompt_variation = 0;  ///< the same for the prompts' new tokens
};

/// The limit on the contents of a pass.
enum class SteadyLimit : std::uint8_t { tokens, sequences, blocks };
template <>
inline constexpr auto choices<SteadyLimit> =
    std::array{Choice{SteadyLimit::tokens, "tokens per pass"}, Choice{SteadyLimit::sequences, "concurrent sequences"},
               Choice{SteadyLimit::blocks, "KV cache blocks"}};

struct SteadyState {
  double capacity = 0;  ///< requests per second, all replicas together
  SteadyLimit limit = SteadyLimit::tokens;
  double ranks = 1;                                       ///< that hold requests, in all replicas
  double begun = 0;                                       ///< k: requests that begin in a pass of one rank at capacity
  double by_tokens = 0, by_sequences = 0, by_blocks = 0;  ///< k, by each limit
  Seconds full_pass{};                                    ///< T(k)
  double decodes = 0;                                     ///< passes of a request after its prompt: (G - 1) / e
  std::optional<double> kept{};  ///< sessions: share of turns that find their history, at capacity
  double load = 0;               ///< rate over capacity
  double growth = 0;             ///< growth of the queue in requests per second; 0 below capacity
  /// Maximum relative error above and below simulated servers (tests/cli/serve_capacity_test.cpp): an eighth; 1/4 above
  /// for sessions without think time, whose queue empties the cache that they need; 0.3 below for identical requests,
  /// which reach several ranks more evenly than at random.
  double above = 0.125, below = 0.125;
  /// Bounds of the capacity of a simulated server.
  double least_capacity() const { return capacity / (1 + above); }
  double most_capacity() const { return capacity / (1 - below); }
};
SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load);

}  // namespace llmcalc
