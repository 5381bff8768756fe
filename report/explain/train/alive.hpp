#pragma once
/// Live tensors at the peak, by name. A maximum over time has no closed form: liveness() enumerates the candidates.

#include <string>
#include <vector>

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"

namespace llmcalc::explain {

struct AliveTensor {
  std::string name;
  Bytes bytes;
};

/// Tensors live at the peak of a training micro-batch, without weights, gradients and optimizer state.
std::vector<AliveTensor> alive_in_training(const Setting& s);

/// Tensors live at the peak of prefill or of the last decode step, without weights and KV cache.
std::vector<AliveTensor> alive_in_inference(const Setting& s);

/// The tensors as terms b_i of a sum.
Terms alive_terms(const std::vector<AliveTensor>& all);

}  // namespace llmcalc::explain
