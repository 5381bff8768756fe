#pragma once
/// Inputs for a server under traffic: arrivals, batching of passes, limits, prices.

#include <optional>
#include <string>
#include <vector>

#include "calc/units.hpp"
#include "serve/client_start.hpp"
#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// Separate engines for prefill and decode: "2P6D".
struct Pools {
  Count prefill = 1, decode = 1;
};

/// Prices of an API in dollars per million tokens.
struct ApiPrice {
  double input = 0, output = 0;
};

struct ServingInputs {
  // traffic: one of rate, users and log
  std::optional<double> rate;  ///< requests per second
  std::optional<Count> users;
  ClientStart start = ClientStart::spread;  ///< of the users
  std::string log;                          ///< path of a log file (ask/answer/serving/request_log.hpp)
  Seconds think{};                          ///< time between an answer and the user's next request
  double arrival_variation = 1;     ///< coefficient of variation of the times between requests: 1 Poisson, 0 constant
  double length_variation = 0;      ///< variation of prompt and answer lengths, log-normal; 0: constant
  std::string lengths;              ///< file with lengths and their weights, instead of a distribution
  Count turns = 1;                  ///< requests per session
  Count shared_prefix = 0;          ///< tokens of the prefix that all prompts share
  std::optional<Count> requests;    ///< number of requests to simulate
  std::optional<Seconds> duration;  ///< time span of the arrivals, instead of a number of requests
  Count seed = 0;

  // engine
  std::optional<Count> pass_tokens, sequences, block_tokens;  ///< limits of a pass, and block size; absent: the
                                                              ///< engine's defaults
  Count chunk_tokens = 0;
  Count poll_passes = 1;  ///< SchedulerRules::poll_passes
  Batching batching = Batching::continuous;
  Admission admission = Admission::first_come;
  Preemption preemption = Preemption::recompute;
  bool prefix_cache = true;
  ServedAdapters adapters{};  ///< set of adapters that requests use
  std::string draft_model;
  Count draft_tokens = 0;
  std::vector<double> acceptance;  ///< acceptance rates by draft position; the last one applies to all later positions
  std::optional<Pools> pools;
  Count replicas = 1;
  Routing routing = Routing::round_robin;

  // limits and prices
  std::optional<Seconds> slo_first_token, slo_per_token;
  double percentile = 95;  ///< percentage of requests that must meet these limits
  std::optional<ApiPrice> api_price;
};

/// Whether there is traffic.
inline bool has_traffic(const ServingInputs& v) { return v.rate || v.users || !v.log.empty(); }

}  // namespace llmcalc
