#pragma once
/// Parameters of a model, exact to the last one, summed over its operators.

#include <array>

#include "calc/arch.hpp"
#include "calc/block/block.hpp"
#include "calc/cost/cost.hpp"

namespace llmcalc {

/// Counts of learned numbers: a tied head counts once, buffers and a router's correction bias do not count.
struct Parameters {
  Count total = 0;
  Count active = 0;         ///< total less the routed experts that a token does not visit; of those that return their
                            ///< input (Moe::zero_experts) it chooses none
  Count active_mean = 0;    ///< the same where each of its choices is as likely as any other
  Count active_least = 0;   ///< the same where it chooses as many of those as there are
  Count non_embedding = 0;  ///< Kaplan's: total less token table, positions and head (arXiv:2001.08361)
  Count embedding = 0, position = 0, attention = 0, mlp = 0, norm = 0, lm_head = 0;
  Count matmul = 0;         ///< weights that enter a matmul once per token: head in (even tied), lookup tables out
  Count matmul_active = 0;  ///< `matmul` without idle experts
  Count factored = 0;       ///< numbers in Adafactor's state
  constexpr bool operator==(const Parameters&) const = default;
};

Parameters parameters(const Arch& arch);

/// The same of all modules that the model has beside it (Mtp), which none of its own counts include. What they share
/// with the model counts there.
Parameters mtp_parameters(const Arch& arch);

/// Numbers cached per token by all layers together, windows and chunks ignored and without the recurrent state of
/// linear layers. MHA, GQA, MQA: 2 kv_heads head_dim per layer; MLA: kv_rank + rope_dim. `modules`: as many
/// modules (Mtp) cache theirs besides.
Count cache_elements_per_token(const Arch& arch, Count modules = 0);

}  // namespace llmcalc
