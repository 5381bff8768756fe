#pragma once
/// FLOPs per token as others count them, which is why their model FLOPs utilisations differ.

#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/plan.hpp"

namespace llmcalc::validate {

struct Convention {
  std::string key;      ///< "llm_c"
  std::string formula;  ///< in words
  double flops_per_token = 0;
};

/// FLOPs of a training step by convention. N: parameters, idle experts left out; L layers, A heads of d_h, S tokens.
///   model     operator by operator, forward and backward, attention as the plan counts it
///   llm_c     6 N + 6 L A d_h S (llm.c, llmc/mfu.h): half of the pairs
///   palm      6 N + 12 L A d_h S (PaLM, arXiv:2204.02311, App. B): every pair
///   nanogpt   the same, N without the position table
///   six_n     6 N (Kaplan et al. 2020)
///   executed  what the kernels do, recomputation included (HFU)
std::vector<Convention> conventions(const Arch& arch, const Plan& plan);

}  // namespace llmcalc::validate
