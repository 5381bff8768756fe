#pragma once
/// A request to a server and its answer.

#include <cstdint>
#include <limits>
#include <span>

#include "serve/times/clock.hpp"

namespace llmcalc {

/// Index in the list of all requests.
using RequestId = std::uint32_t;
inline constexpr RequestId no_request = std::numeric_limits<RequestId>::max();
/// Number of a session or a shared prefix, from 0.
using ChainId = std::uint32_t;
inline constexpr ChainId no_chain = std::numeric_limits<ChainId>::max();

struct ServerRequest {
  Seconds at{};                    ///< arrival; if it waits for an answer, the time from that answer to the arrival
  Count prompt = 1, generate = 1;  ///< tokens, at least one each; the prompt's pass gives the first token of the answer
  RequestId after = no_request;    ///< the earlier request whose answer it waits for
  ChainId session = no_chain;      ///< its prompt begins with the prompt and answer of the session's last request
  ChainId prefix = no_chain;       ///< its prompt begins with the prefix of this number
  Count prefix_tokens = 0;         ///< length of that prefix
  int priority = 0;                ///< lower first, if the server uses priorities
};

/// Times of a request's answer. Ticks count from the start of the run; `never`: not yet.
struct AnswerTimes {
  Ticks sent = never;                 ///< arrival
  Ticks first = never, last = never;  ///< end of the pass that gave the first and the last token
  Count cached = 0;                   ///< tokens of the prompt in the cache at its first admission
  std::uint32_t preemptions = 0;
  std::uint32_t replica = 0;  ///< replica that gave the last token
};

}  // namespace llmcalc
