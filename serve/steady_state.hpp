#pragma once
/// A server in its steady state: clients that each send a request, wait for the answer and send the next.

#include <functional>

#include "calc/units.hpp"

namespace llmcalc {

/// A closed loop of clients, and the passes of the server that answers them.
struct ClosedLoop {
  double clients = 1;
  double generate = 1;         ///< tokens of an answer
  double most_decoding = 1e9;  ///< sequences for which the cache has room
  Seconds prompt;              ///< a pass over one request's prompt
  /// A decode step of so many sequences.
  std::function<Seconds(double sequences)> step;
};

struct SteadyState {
  Seconds first_token, per_token;
  double decoding = 1;  ///< sequences in a step, on average
  /// Generated tokens per second of all clients.
  double tokens_per_second(const ClosedLoop& loop) const;
};

/// Every pass takes the next token of the sequences that decode, and the prompts that have come along with them: a
/// prompt makes a pass longer by what it takes beyond the weights, which are read anyway. As many prompts come as
/// answers end: of b sequences with g tokens each, b / g in a step. A request waits for the rest of the pass that runs
/// when it comes, for the prompts before it (a queue with random arrivals and equal service: Pollaczek and Khinchine),
/// and where the cache is full for a place. Left out: bursts, budgets of tokens per pass, lengths that differ.
SteadyState steady_state(const ClosedLoop& loop);

}  // namespace llmcalc
