#pragma once
/// The next token from logits.

#include <cstdint>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// Options of sampling. The defaults sample from the model's own distribution.
struct SamplingOptions {
  double temperature = 1;  ///< the logits are divided by it; 0 is greedy
  Count top_k = 0;         ///< only the k most likely tokens; 0 is all of them
  double top_p = 1;        ///< only the most likely tokens that together reach this probability, in (0, 1]
};

struct TokenCandidate {
  std::int32_t token = 0;
  double probability = 0;
};

/// The most likely token; of several, the lowest. Logits that are NaN or +infinity, or all -infinity, are an InputError
/// here and below; a token at -infinity never follows.
std::int32_t greedy(std::span<const float> logits);

/// The tokens that may follow, by number, with probabilities that sum to 1: softmax(logits/temperature), cut to the
/// top k (Fan et al. 2018), then to the nucleus, the smallest set of the most likely tokens that reaches
/// top_p (Holtzman et al. 2020, section 3.1). Of equally likely tokens the lowest stays. InputError for an option out
/// of range.
std::vector<TokenCandidate> candidates(std::span<const float> logits, const SamplingOptions& options);

/// One of the candidates, by where `uniform`, in [0, 1), falls in their cumulative probability.
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, double uniform);

/// ln softmax(logits), in double.
std::vector<double> log_softmax(std::span<const float> logits);

}  // namespace llmcalc::model
