#pragma once
/// The tensors alive at the worst moment, by name. A maximum over moments has no closed form: liveness() enumerates it.

#include <string>
#include <vector>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

struct AliveTensor {
  std::string name;
  Bytes bytes;
};

/// Besides weights, gradients and optimizer state, at the worst moment of a training micro-batch.
std::vector<AliveTensor> alive_in_training(const Setting& s);

/// Besides weights and KV cache, at the worst moment of prefill or of the last decode step.
std::vector<AliveTensor> alive_in_inference(const Setting& s);

/// The tensors as terms b_i of a sum.
Terms alive_terms(const std::vector<AliveTensor>& all);

}  // namespace llmcalc::explain
