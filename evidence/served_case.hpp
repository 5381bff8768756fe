#pragma once
/// Simulation of an inference row's clients, served by the row's engine.

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "serve/served.hpp"

namespace llmcalc {

/// Time outside forward passes.
struct ServedOverhead {
  Seconds request{};     ///< time per request
  Seconds first_wave{};  ///< delay of the first requests of clients that start together
};

/// Request times of one replica.
struct ServedTimes {
  Spread first_token;          ///< time from a request to its first token
  Spread per_token;            ///< a request's mean time per token after the first
  Spread gap;                  ///< time between two consecutive tokens
  Spread request;              ///< time of a whole request
  Seconds least_first, least;  ///< shortest time to a first token, and shortest request
  Seconds all;                 ///< time until the last answer
  double tokens = 0;           ///< number of generated tokens
};

/// Number of equal parts of the row's system of which times_served() simulates one: the replicas of an engine, or 1 for
/// engines with a pool for prompts, which are simulated together.
Count simulated_parts(const InferenceCase& c);

/// Simulates the clients of one part. Each client sends its next request when the previous one is answered; if the
/// row does not state the number of requests, ten per client are simulated. With `max_inflight`, all requests are
/// sent at once; clients that start at different times do so over the mean time of a request. Lengths are spread evenly
/// between a fraction of the nominal length and the full nominal length.
ServedTimes times_served(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster,
                         const ServedOverhead& overhead);

}  // namespace llmcalc
