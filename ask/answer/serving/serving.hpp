#pragma once
/// A server under traffic: the engine of serve/ for a request, its simulated run, and the capacity.

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
  EngineMemory memory;  ///< memory of one GPU
  EngineRules rules;
  PassTimes times;    ///< valid if the engine can hold a request
  Count longest = 0;  ///< tokens of the longest sequence that fits in the cache
};

/// Requests over time, and how they differ from the requested traffic.
struct ServingTraffic {
  RequestTraffic requests;
  Count cut = 0;                      ///< number of requests truncated to the engine's longest sequence
  std::vector<std::string> unused{};  ///< ignored fields of a log
  Count failed = 0;                   ///< number of failed requests of a log, omitted
  bool stopped = false;               ///< whether drawing was stopped, so that only the first requests exist
};
/// A run, and the time that its passes spent on prompts and on answers.
struct ServingRun {
  ServerRun run;
  double prompt_seconds = 0, answer_seconds = 0;  ///< busy time by purpose, summed over all engines
  std::vector<PassRecord> passes;                 ///< recorded only if requested
  double share = 1;  ///< fraction of the engines that was simulated, under the same fraction of the load
};
/// Called periodically with the number of answered requests and the total number of requests. Returns false to stop.
using GoesOn = std::function<bool(Count, Count)>;

/// Requests that a subset of the engines answers in an interval; the server has `parts` such subsets.
struct ServingCapacity {
  Count requests = 0;
  Seconds time{};
  double parts = 1;
  double overloaded = 0;           ///< requests per second that all engines answer at 1.5 times this load
  std::optional<double> cached{};  ///< cached share of prompt tokens at capacity; only for sessions
  double rate() const { return parts * static_cast<double>(requests) / time.value; }
  /// Whether a queue changes the throughput by more than the measurement error.
  bool depends_on_queue() const;
};
}  // namespace llmcalc
