#pragma once
/// Clients of a row of inference, served by the row's engine.

#include "evidence/inference_case.hpp"
#include "presets/inference_estimator.hpp"

namespace llmcalc {

/// Means over the requests of one replica.
struct ServedMeans {
  Seconds first_token;  ///< from the request until its first token
  Seconds per_token;    ///< of the answer, behind the first
  Seconds request;      ///< the whole
  Seconds all;          ///< until the last answer
  double tokens = 0;    ///< generated
};

/// One replica's clients, each of whom sends a request when the one before is answered: ten each, where the row does
/// not say how many; those of `max_inflight` all at once. Lengths that are drawn, uniformly between a share of the
/// nominal ones and all of it, are spread evenly. `request`: seconds of a request besides passes.
ServedMeans served_means(const InferenceCase& c, const InferenceStack& stack, const Cluster& cluster, Seconds request);

}  // namespace llmcalc
