#pragma once
/// The operators of a block that selective recomputation covers, by module.

#include "calc/operator/op.hpp"
#include "calc/plan.hpp"

namespace llmcalc {

/// Whether the operator is part of the module. Names follow Megatron-Core's --recompute-modules:
///   core  attention's core and its context-parallel communication (core_attn); an indexer's selection is saved
///   norm  the norms of the residual stream (layernorm)
///   act   the activation of the MLP and its product with the gate (moe_act)
///   mlp   the MLP or, in an MoE layer, router, experts and shared experts with their communication (mlp, moe)
///   up    latent attention's projections from the latent rows, with their norms and RoPE (mla_up_proj)
bool holds(RecomputeModule m, const Op& op);

/// Whether the operator is part of one of the modules.
bool holds_any(RecomputeModules modules, const Op& op);

/// Whether the operator's result is discarded and recomputed in backward for all its readers. If the core or the whole
/// MLP is recomputed, only its inner tensors are discarded; its result is saved if backward needs it.
bool discards_result(RecomputeModules modules, const Op& op);

}  // namespace llmcalc
