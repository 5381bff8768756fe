#pragma once
/// Sampling of the next token from logits.

#include <cstdint>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Sampling options. The defaults sample from the model's distribution.
struct SamplingOptions {
  double temperature = 1;  ///< divisor of the logits; 0: greedy
  Count top_k = 0;         ///< number of most likely tokens to choose from; 0: all
  double top_p = 1;        ///< probability, in (0, 1], that the most likely tokens to choose from must reach together
};

struct TokenCandidate {
  std::int32_t token = 0;
  double probability = 0;
};

/// The most likely token; among ties, the lowest one. Here and below, logits that are NaN, +infinity, or all -infinity
/// throw an InputError, and tokens whose logit is -infinity are never chosen.
std::int32_t greedy(std::span<const float> logits);

/// Candidates for the next token, by index, with probabilities that sum to 1: softmax(logits/temperature), reduced to
/// the top k (Fan et al. 2018), then to the nucleus, the smallest set of the most likely tokens that reaches top_p
/// (Holtzman et al. 2020, section 3.1). Among ties, the lowest tokens are kept. Throws InputError for an option out of
/// range.
std::vector<TokenCandidate> candidates(std::span<const float> logits, const SamplingOptions& options);

/// Samples the candidate at position `uniform`, in [0, 1), of the cumulative distribution.
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, double uniform);

/// ln softmax(logits), in double.
std::vector<double> log_softmax(std::span<const float> logits);

}  // namespace llmcalc::model
