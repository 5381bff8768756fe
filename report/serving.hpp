#pragma once
/// A server under traffic: from a request to the engine of serve/, a run of it, and what that costs.

#include <functional>
#include <string>
#include <vector>

#include "report/request.hpp"
#include "report/request_log.hpp"
#include "serve/disaggregated.hpp"
#include "serve/engine_memory.hpp"
#include "serve/steady_state.hpp"

namespace llmcalc {

/// An engine of the server.
struct ServingEngine {
  EngineLimits limits;
  EngineMemory memory;  ///< of one GPU
  EngineRules rules;
  PassTimes times;    ///< of an engine that has room for a request
  Count longest = 0;  ///< tokens of the longest sequence that the cache holds
};
/// Precondition: the request passed check_serving().
ServingEngine serving_engine(const Request& r);
/// Tokens of the last request of a session, as --prompt and --generate say; 2 where a file has the lengths.
Count usual_tokens(const Request& r);
/// Whether the cache holds as many.
bool holds_a_request(const Request& r, const ServingEngine& e);

/// Engines, of both kinds where there are two.
Count serving_engines(const Request& r);
/// The link over which engines send each other keys and values; bandwidth 0: there is none.
Link link_between_engines(const Request& r);
/// GPUs of all engines.
Count serving_gpus(const Request& r);

/// Throws InputError where the traffic, the limits or the engine cannot be.
void check_serving(const Request& r);

/// Requests over time, and what was done to them.
struct ServingTraffic {
  RequestTraffic requests;
  Count cut = 0;                    ///< prompts that were longer than the engine takes, and were cut
  std::vector<std::string> unused;  ///< fields of a log
};
/// Throws InputError where a log or a table of lengths cannot be read, and where a request of a log is too long.
ServingTraffic serving_traffic(const Request& r, const ServingEngine& e);

/// The engines behind their router.
Fleet serving_fleet(const Request& r, const ServingEngine& e);

/// A run, and the time that its passes spent on prompts and on answers.
struct ServingRun {
  ServerRun run;
  double prompt_seconds = 0, answer_seconds = 0;  ///< of all engines
  std::vector<PassRecord> passes;                 ///< where they were asked for
};
/// Called now and then with the answered requests and all; false: stop.
using GoesOn = std::function<bool(Count, Count)>;
ServingRun serving_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, bool keep_passes,
                       const GoesOn& goes_on);

/// The long run of such traffic by queueing theory; what the cache had of prompts is taken from the run.
SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served);

/// Requests per second that the server answers while others wait without end: of the traffic's lengths, the middle half
/// of a run in which all come at once. What a session has in common counts as not cached.
double serving_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic);

/// The summary of a run's answered requests, against --slo-ttft and --slo-tpot.
Served served_of(const Request& r, const ServingTraffic& traffic, const ServingRun& run);

}  // namespace llmcalc
