#pragma once
/// What a cache keeps of sessions between their turns, without a simulation.
///
/// An answered turn leaves its blocks in the cache. They stay until the session's next turn comes, after an exponential
/// time of mean Z, or until their room is needed, longest unused first. Such a cache is as if each kept its blocks for
/// the same time T (Che, Tung & Wang 2002, "Hierarchical Web caching systems", IEEE JSAC 20(7), section III):
///   the share of turns that find what was said before   h(T) = 1 - exp(-T / Z)
///   blocks between turns, at r turns per second of sessions of N turns, of which the k-th leaves b(k)
///                                                        r / N (sum over k < N of b(k) Z h(T) + b(N) T)
/// T is the time at which these fill the room. A session is over with its N-th turn; nobody knows, so that its blocks
/// stay for T.
///
/// Left out: blocks that a cache has lost in part; a turn's wait for its place, in which it may lose more.

#include "serve/scheduler_rules.hpp"

namespace llmcalc {

struct Sessions {
  Count turns = 1;     ///< 1: there are none
  Seconds think{};     ///< mean, from an answer to the next turn
  double history = 0;  ///< tokens of a prompt that were said before, in the mean over turns
};

/// The share of turns but the first that find their history. `rate`: turns per second on one rank; `room`: blocks that
/// are not in use, above 0.
double kept_share(const SchedulerRules& rules, const Sessions& sessions, double rate, double room);

}  // namespace llmcalc
