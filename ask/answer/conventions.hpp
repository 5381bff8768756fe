#pragma once
/// FLOPs per token under each convention in which utilization is reported.

#include <array>
#include <string_view>

#include "calc/arch.hpp"
#include "calc/cluster.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

struct Convention {
  std::string_view key;      ///< key of the convention: "llm_c"
  std::string_view formula;  ///< formula in plain text
  double flops_per_token = 0;
};

/// FLOPs of a training step by convention. N: parameters without idle experts; L layers, A heads of d_h, S tokens.
///   model               sum over operators, forward and backward; attention pairs as set by the plan
///   model_full          as model, with all S^2 query-key pairs
///   model_causal_half   as model, with half of the S^2 pairs
///   model_causal_exact  as model, with the S (S + 1) / 2 causal pairs
///   llm_c               6 N + 6 L A d_h S (llm.c, llmc/mfu.h): half of the pairs
///   palm                6 N + 12 L A d_h S (PaLM, arXiv:2204.02311, App. B): every pair
///   nanogpt             as palm, with N excluding the position table
///   six_n               6 N (Kaplan et al. 2020, arXiv:2001.08361)
///   hardware            model plus recomputation (HFU, Korthikanti et al. 2022, arXiv:2205.05198)
///   executed            executed by the kernels, including recomputation and Muon's matmuls
inline constexpr std::size_t convention_count = 10;
std::array<Convention, convention_count> conventions(const Arch& arch, const Plan& plan, const Layout& layout = {},
                                                     const Cluster& cluster = {});

}  // namespace llmcalc
