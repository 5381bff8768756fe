#pragma once
/// A server under traffic: from a request to the engine of serve/, a run of it, and what that costs.

#include <functional>
#include <string>
#include <vector>

#include "ask/answer/serving/request_log.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "serve/engine_memory.hpp"
#include "serve/fleet/disaggregated.hpp"
#include "serve/times/steady_state.hpp"

namespace llmcalc {

/// An engine of the server.
struct ServingEngine {
  EngineLimits limits;
  EngineMemory memory;  ///< of one GPU
  EngineRules rules;
  PassTimes times;    ///< of an engine that has room for a request
  Count longest = 0;  ///< tokens of the longest sequence that the cache holds
};

/// Requests over time, and what was done to them.
struct ServingTraffic {
  RequestTraffic requests;
  Count cut = 0;                      ///< prompts that were longer than the engine takes, and were cut
  std::vector<std::string> unused{};  ///< fields of a log
  bool stopped = false;               ///< before all were drawn
};
/// A run, and the time that its passes spent on prompts and on answers.
struct ServingRun {
  ServerRun run;
  double prompt_seconds = 0, answer_seconds = 0;  ///< of all engines
  std::vector<PassRecord> passes;                 ///< where they were asked for
  double share = 1;                               ///< of the engines, which were simulated under as much of the load
};
/// Called now and then with the answered requests and all; false: stop.
using GoesOn = std::function<bool(Count, Count)>;

/// What a part of the engines answers in a time; `parts` of them are all.
struct ServingCapacity {
  Count requests = 0;
  Seconds time{};
  double parts = 1;
  double overloaded = 0;           ///< requests per second that all of them answer while half more come
  std::optional<double> cached{};  ///< of sessions: the share of prompts' tokens in the cache when that many come
  double rate() const { return parts * static_cast<double>(requests) / time.value; }
  /// Whether a queue changes what is answered, by more than the two are measured within.
  bool depends_on_queue() const;
};
}  // namespace llmcalc
