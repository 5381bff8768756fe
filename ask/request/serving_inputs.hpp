#pragma once
/// The user's words about a server under traffic: who asks, how passes are filled, which limits hold, what it costs.

#include <optional>
#include <string>
#include <vector>

#include "calc/units.hpp"
#include "serve/fleet/fleet.hpp"

namespace llmcalc {

/// Engines of their own for prompts and for answers: "2P6D".
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
  std::string log;                  ///< a file (report/request_log.hpp)
  Seconds think{};                  ///< of a user between an answer and the next request
  double arrival_variation = 1;     ///< of the times between requests: 1 Poisson, 0 constant
  double length_variation = 0;      ///< of prompts and answers, log-normal; 0: constant
  std::string lengths;              ///< a file of lengths and their weights, instead; empty: none
  Count turns = 1;                  ///< of a session
  Count shared_prefix = 0;          ///< tokens with which all prompts begin
  std::optional<Count> requests;    ///< to simulate
  std::optional<Seconds> duration;  ///< of arrivals, instead
  Count seed = 0;

  // engine
  std::optional<Count> pass_tokens, sequences;  ///< absent: what the engine allows itself
  Count block_tokens = 16, chunk_tokens = 0;
  Batching batching = Batching::continuous;
  Admission admission = Admission::first_come;
  Preemption preemption = Preemption::recompute;
  bool prefix_cache = true;
  ServedAdapters adapters{};  ///< that requests choose from
  std::string draft_model;
  Count draft_tokens = 0;
  std::vector<double> acceptance;  ///< by position; the last holds for all further ones
  std::optional<Pools> pools;
  Count replicas = 1;
  Routing routing = Routing::round_robin;

  // limits and prices
  std::optional<Seconds> slo_first_token, slo_per_token;
  double percentile = 95;  ///< of requests that must keep them, in percent
  std::optional<ApiPrice> api_price;
};

/// Whether somebody asks.
inline bool has_traffic(const ServingInputs& v) { return v.rate || v.users || !v.log.empty(); }

}  // namespace llmcalc
