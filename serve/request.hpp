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
  Seconds at{};                    ///< time of arrival; if the request waits for an answer, the time from that answer
                                   ///< to the arrival
  Count prompt = 1, generate = 1;  ///< numbers of tokens, at least 1 each; the prompt's last pass produces the first
                                   ///< answer token
  RequestId after = no_request;    ///< the earlier request whose answer this request waits for
  ChainId session = no_chain;      ///< session; the prompt begins with the prompt and answer of the session's
                                   ///< previous request
  ChainId prefix = no_chain;       ///< number of the shared prefix with which the prompt begins; it may extend others
                                   ///< (RequestList::prefixes())
  Count prefix_tokens = 0;         ///< length of that prefix
  int priority = 0;                ///< lower values are served first, if the server uses priorities
};

/// Times of a request's answer, in ticks from the start of the run; `never`: not yet.
struct AnswerTimes {
  Ticks sent = never;                 ///< time of arrival
  Ticks first = never, last = never;  ///< end of the pass that produced the first or the last token
  Count cached = 0;                   ///< number of prompt tokens found in the cache at the request's first admission
  std::uint32_t preemptions = 0;
  std::uint32_t replica = 0;  ///< replica that produced the last token
};

}  // namespace llmcalc
