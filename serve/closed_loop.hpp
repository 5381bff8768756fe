#pragma once
/// A server that answers clients, pass by pass: each client sends a request, waits for the answer and sends the next.

#include <functional>
#include <span>

#include "calc/units.hpp"

namespace llmcalc {

/// Tokens of a request's prompt, and of its answer; the first token of an answer comes from the prompt's pass.
struct RequestLengths {
  Count prompt = 1, generate = 1;
};

/// How the loop of a server fills its passes.
struct ServerRules {
  Count pass_tokens = 8192;    ///< of prompts and of decoding sequences in a pass, at most
  Count sequences = 1024;      ///< in progress, at most
  double cache_tokens = 1e18;  ///< for which the cache has room; a request takes those of its whole length
  bool prompts_first = false;  ///< passes of prompts alone as long as one waits; else they ride along with decoding
};

/// Times of passes.
struct PassSeconds {
  std::function<Seconds(Count sequences)> step;  ///< a decode step of so many sequences
  Seconds prompt_token;  ///< that a token of a prompt adds to a pass, whose weights are read anyway
  Seconds request{};     ///< of a request besides passes, which keeps no other waiting
};

/// Means over requests.
struct ServedMeans {
  Seconds first_token;  ///< from the request until its first token
  Seconds per_token;    ///< of the answer, behind the first
  Seconds request;      ///< the whole
  Seconds all;          ///< until the last answer
  Count tokens = 0;     ///< generated
};

/// Serves the requests in order; `clients` of them at once, all of which begin at time 0. A prompt may be divided over
/// passes. First come, first served. Left out: the time between an answer and the next request, preemption, the growth
/// of a sequence's context.
/// Preconditions: at least one request, each of at least one token of both kinds; clients above 0.
ServedMeans serve_closed_loop(std::span<const RequestLengths> requests, Count clients, const ServerRules& rules,
                              const PassSeconds& passes);

}  // namespace llmcalc
