#pragma once
/// Decode context parallelism as a pass over operators: each of D ranks with the same KV heads caches 1/D of the tokens
/// of every sequence (vLLM's --decode-context-parallel-size, github.com/vllm-project/vllm/pull/23734).
///
/// Without it, tensor-parallel ranks in excess of the KV heads cache copies; with latent attention, all ranks do. A
/// decode step all-gathers the queries of the D ranks, and each rank computes the heads of all of them on its own
/// tokens. The log-sum-exps are then all-gathered and the outputs reduce-scattered. Prefill is unchanged, because every
/// rank computes the keys and values of its heads for all tokens of the prompt. A rank's FLOPs do not change; its cache
/// and the bytes that it reads from the cache shrink to 1/D, rounded up per token and layer. Excludes gathering the
/// context of prompts that are prefilled in several chunks.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// The operators of one of the ranks. `decodes`: whether the pass decodes. Apply after split_tensor(). Precondition:
/// flaw() finds no LayoutFlaw::cached_ranks or cached_layers.
OpList split_cached(const OpList& ops, const Layout& layout, bool decodes);

}  // namespace llmcalc
