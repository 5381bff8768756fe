#pragma once
/// The long run of a server without a simulation: what it can serve, and how long requests take, from the same times of
/// passes and the same rules.
///
/// A request of P prompt and G answer tokens, of whose prompt Q are in the cache, takes part in (G - 1) / e passes that
/// decode, e tokens each (1 without drafts), and in c = (P - Q) / (tokens of a chunk) passes of its prompt; a chunk is
/// what decoding sequences leave of a pass, at most. At a rate of r requests per second and passes of t seconds each
/// holds r t c chunks and n = r t (G - 1) / e decoding sequences:
///   capacity   k / T(k), k requests per pass: the largest k at which the tokens, sequences and blocks of k requests'
///              passes fit into one pass; blocks of a prefix that all prompts share count once
///   a pass     t = T(1 + r t (G - 1) / e decoding sequences, r t c chunks): a request that is being answered sees as
///              many others as there are on average (as in M/G/infinity)
///   the wait   for a place among N: (a + v) / 2 rho^(sqrt(2 (N + 1)) - 1) / (1 - rho) H / N, rho = r / capacity, H the
///              time in progress, v its squared coefficient of variation and a that of the times between arrivals, 1
///              where they are Poisson (Sakasegawa 1977, "An approximation formula L_q = alpha rho^beta / (1 - rho)";
///              Allen & Cunneen's factor); of one place (1 + v) / 2 rho / (1 - rho) H: Pollaczek-Khinchine, exact for
///              M/G/1
///   and for the end of the pass that runs: E[T^2] / (2 E[T]), the mean rest of a pass, with the probability
///              1 - exp(-r latency) that one runs (M/G/infinity)
/// Ranks that step together, and micro-batches of a pipeline, wait for the one that has most chunks: with R of them,
/// each with a Poisson number of mean r t c, a pass has at most j with the probability P(j)^R. Where prompts differ,
/// with a squared coefficient of variation w, their tokens come as those of fewer and longer ones, (1 + w) as long: the
/// same mean and variance. A decoding sequence is met with the probability of its length: G counts (1 + v) times in
/// what it holds and reads. Of one place, a request is alone in each of its passes.
///
/// Of sessions the cache has the less of a prompt the more come: more are alive (Little's law: rate x (time in progress
/// + think time)), and what is in progress leaves less room to the others (serve/session_cache.hpp). Fewer hits make
/// passes longer, so that still more are in progress. The capacity is the most rate at which this has an end: beyond it
/// the cache is lost, and with it the rate that it made possible.
///
/// Left out: preemption, other effects of lengths that differ, and what bursts do to the batch. It is no theory of
/// fixed batches, which wait for each other.

#include <optional>

#include "serve/fleet.hpp"
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
  double arrivals = 1;          ///< the same of the times between requests; 1: Poisson
};

/// What keeps a pass from holding more.
enum class SteadyLimit : std::uint8_t { tokens, sequences, blocks };
template <>
inline constexpr auto choices<SteadyLimit> =
    std::array{Choice{SteadyLimit::tokens, "tokens of a pass"}, Choice{SteadyLimit::sequences, "sequences in progress"},
               Choice{SteadyLimit::blocks, "blocks of the cache"}};

/// Times of requests in the long run.
struct SteadyTimes {
  Seconds pass{};    ///< mean, as a request sees it
  Seconds wait{};    ///< until a place is free and the pass that runs has ended
  double busy = 0;   ///< probability that one runs
  Seconds rest{};    ///< of it, in the mean
  Seconds prompt{};  ///< passes of a prompt
  Seconds first_token{}, per_token{}, latency{};
  double decoding = 0;  ///< sequences in a pass
};
struct SteadyState {
  double capacity = 0;  ///< requests per second, all replicas together
  SteadyLimit limit = SteadyLimit::tokens;
  double ranks = 1;                                       ///< that hold requests, of all replicas
  double begun = 0;                                       ///< k: requests that begin in a pass of one rank at capacity
  double by_tokens = 0, by_sequences = 0, by_blocks = 0;  ///< k, by each limit
  Seconds full_pass{};                                    ///< T(k)
  double decodes = 0;                                     ///< passes of a request behind its prompt: (G - 1) / e
  double most_in_progress = 0;                            ///< sequences on one rank at capacity
  std::optional<double> kept{};                           ///< of sessions: turns that find their history, at capacity
  double load = 0;                                        ///< rate over capacity
  double growth = 0;                 ///< requests per second by which the queue grows; 0 below capacity
  std::optional<SteadyTimes> times;  ///< absent at or beyond capacity
};
SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load);

/// The rate of `users` who each send a request `think` seconds after an answer: by Little's law the one at which
/// rate x (latency + think) = users; at most the capacity.
double closed_rate(const Fleet& fleet, const PassTimes& times, SteadyLoad load, Count users, Seconds think);

}  // namespace llmcalc
