#pragma once
/// The operators of a block that selective recomputation runs again in backward, by module.

#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Whether the module holds the operator. Names follow Megatron-Core's --recompute-modules:
///   core  attention's core and the exchanges that context ranks make for it (core_attn); an indexer's choice is kept
///   norm  the norms of the residual stream (layernorm)
///   act   the activation of the MLP and its product with the gate (moe_act)
///   mlp   the MLP, or router, experts and shared experts, with their exchanges (mlp, moe)
///   up    latent attention's projections from the latent rows, with their norms and RoPE (mla_up_proj)
bool holds(RecomputeModule m, const Op& op);

/// Whether one of the modules holds it.
bool holds_any(RecomputeModules modules, const Op& op);

/// Whether backward discards and remakes the operator's result, for whoever needs it. Of the core and of the MLP as a
/// whole only what lies inside them is remade; their results are kept where backward needs them.
bool discards_result(RecomputeModules modules, const Op& op);

}  // namespace llmcalc
