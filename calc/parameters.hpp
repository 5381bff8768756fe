#pragma once
/// Exact parameter counts of a model, summed over its operators.

#include <array>

#include "calc/arch.hpp"
#include "calc/block/block.hpp"
#include "calc/cost/cost.hpp"

namespace llmcalc {

/// Learned parameters. A tied head counts once; excludes buffers and a router's correction bias.
struct Parameters {
  Count total = 0;
  Count active = 0;         ///< total minus the routed experts to which a token is not routed, if it picks no zero
                            ///< experts (Moe::zero_experts)
  Count active_mean = 0;    ///< mean number of active parameters, with all routing choices equally likely
  Count active_least = 0;   ///< number of active parameters if a token picks the maximum number of zero experts
  Count non_embedding = 0;  ///< Kaplan's count: total minus token embedding, positions and head (arXiv:2001.08361)
  Count embedding = 0, position = 0, attention = 0, mlp = 0, norm = 0, lm_head = 0;
  Count matmul = 0;  ///< number of weights used in a matmul once per token: includes the head (even tied), excludes
                     ///< lookup tables
  Count matmul_active = 0;  ///< `matmul` without idle experts
  Count factored = 0;       ///< number of elements in Adafactor's state
  constexpr bool operator==(const Parameters&) const = default;
};

Parameters parameters(const Arch& arch);

/// Parameters of all MTP modules, excluding parts shared with the model. The model's counts exclude these parameters.
Parameters mtp_parameters(const Arch& arch);

/// Number of elements cached per token over all layers, ignoring windows and chunks and excluding the recurrent state
/// of linear layers. MHA, GQA, MQA: 2 kv_heads head_dim per layer; MLA: kv_rank + rope_dim. `modules`: number of MTP
/// modules to include.
Count cache_elements_per_token(const Arch& arch, Count modules = 0);

}  // namespace llmcalc
