#pragma once
/// Clients of a row of inference, served by the row's engine.

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "serve/served.hpp"

namespace llmcalc {

/// Times of the requests of one replica.
struct ServedTimes {
  Spread first_token;          ///< from the request until its first token
  Spread per_token;            ///< of the answer, behind the first: a request's mean
  Spread gap;                  ///< between two tokens
  Spread request;              ///< the whole
  Seconds least_first, least;  ///< of all requests: the shortest until a first token, and in whole
  Seconds all;                 ///< until the last answer
  double tokens = 0;           ///< generated
};

/// One replica's clients, each of whom sends a request when the one before is answered: ten each, where the row does
/// not say how many; those of `max_inflight` all at once. Lengths that are drawn, uniformly between a share of the
/// nominal ones and all of it, are spread evenly. `request`: seconds of a request besides passes.
ServedTimes times_served(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster, Seconds request);

}  // namespace llmcalc
