#pragma once
/// Fraction of session histories that stay in a cache between turns, computed without a simulation.
///
/// An answered turn leaves its blocks in the cache. They stay until the session's next turn, which follows after an
/// exponentially distributed time of mean Z, or until space is needed; the least recently used blocks are evicted
/// first. The cache behaves as if it kept the blocks of each session for the same time T (Che, Tung & Wang 2002,
/// "Hierarchical Web caching systems", IEEE JSAC 20(7), section III):
///   fraction of turns that find their history   h(T) = 1 - exp(-T / Z)
///   blocks between turns, at r turns per second of sessions of N turns, the k-th leaving b(k)
///                                            r / N (sum over k < N of b(k) Z h(T) + b(N) T)
/// T is the value at which these blocks fill the space. A session ends with its N-th turn, but the cache cannot detect
/// this, so its blocks stay for T.
///
/// Not modeled: partly evicted histories, and blocks that a turn loses while it waits for admission.

#include "serve/scheduler_rules.hpp"

namespace llmcalc {

struct Sessions {
  Count turns = 1;     ///< number of turns per session; 1: no sessions
  Seconds think{};     ///< mean time from an answer to the next turn
  double history = 0;  ///< mean number of a prompt's tokens that come from earlier turns
};

/// Fraction of turns after the first that find their history. `rate`: turns per second on one rank. `room`: number of
/// blocks that are not in use, above 0.
double kept_share(const SchedulerRules& rules, const Sessions& sessions, double rate, double room);

}  // namespace llmcalc
