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
/// The same without times: what it holds, and of what sequences its cache has room for.
ServingEngine serving_room(const Request& r);
/// The limits of its passes: as asked for, else the engine's own.
EngineLimits serving_limits(const Request& r);
/// Fills in the prompt's default: 2048 tokens, fewer where the context ends before the answer, or the last turn, does.
void settle_serving(Request& r);
/// Tokens of the last request of a session, as --prompt and --generate say; 2 where a file has the lengths.
Count usual_tokens(const Request& r);
/// Whether a file has the lengths.
bool has_lengths_of_its_own(const Request& r);
/// Blocks of all engines' caches.
double all_blocks(const Request& r, const ServingEngine& e);
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
  Count cut = 0;                      ///< prompts that were longer than the engine takes, and were cut
  std::vector<std::string> unused{};  ///< fields of a log
  bool stopped = false;               ///< before all were drawn
};
/// Throws InputError where a log or a table of lengths cannot be read, where a request of a log is too long, and where
/// there are more than most_requests. `goes_on` is asked now and then; false: what is drawn by then is all.
ServingTraffic serving_traffic(const Request& r, const ServingEngine& e, const std::function<bool()>& goes_on = {});
inline constexpr Count most_requests = 100'000'000;

/// The engines behind their router.
Fleet serving_fleet(const Request& r, const ServingEngine& e);

/// A run of them.
ServerRun plain_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                    const ServerWatch& watch = {});
/// A run, and the time that its passes spent on prompts and on answers.
struct ServingRun {
  ServerRun run;
  double prompt_seconds = 0, answer_seconds = 0;  ///< of all engines
  std::vector<PassRecord> passes;                 ///< where they were asked for
  double share = 1;                               ///< of the engines, which were simulated under as much of the load
};
/// Called now and then with the answered requests and all; false: stop.
using GoesOn = std::function<bool(Count, Count)>;
ServingRun serving_run(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, bool keep_passes,
                       const GoesOn& goes_on);

/// The capacity for such traffic by the limits of a pass. What the cache had of prompts is taken from the run; of
/// sessions, whose tokens leave the cache the sooner the more come, theory says what it has at capacity, or where it
/// does not know (a log; turns that come to another cache) `cached_at_capacity`.
SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served, std::optional<double> cached_at_capacity);

/// Whether some requests belong to a session.
bool has_sessions(const std::vector<ServerRequest>& all);
/// Means of the traffic: lengths, how much they differ, and what all prompts have in common. The rate and what is
/// cached are the caller's.
SteadyLoad mean_load(const ServingTraffic& traffic);
/// Why no such capacity is known; empty: it is, of engines of one kind whose batches are not fixed.
std::string why_no_long_run(const Request& r, const ServingEngine& e);

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
/// Measured on the traffic's requests, which come at random, whatever their own rate: what is answered in the middle
/// half of a run in which half more come, where a little less than that leaves no queue that grows, and a little more
/// does; else the most rate at which none grows. With sessions, whose tokens leave the cache while their next turns
/// wait, it is the most rate that lasts: no queue may be long near the end of three longer runs. One engine counts for
/// all; of two kinds, as many as tell their ratio; where turns go to different engines, up to 8.
ServingCapacity measured_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic);
/// By how many requests per second the queue grows in the second half of the arrivals; 0: by no more than one in fifty
/// of them.
double queue_growth(const ServerRun& run);
/// The longest queue that is longer than what is in progress beside it; 0: there is none.
double long_queue(const ServerRun& run);

/// --slo-ttft and --slo-tpot.
Slo slo_of(const Request& r);
/// The summary of a run's answered requests, against these.
Served served_of(const Request& r, const ServingTraffic& traffic, const ServerRun& run);

}  // namespace llmcalc
