#pragma once
/// An engine's scheduler rules, derived from its limits, memory and profile.

#include "presets/estimators/inference_estimator.hpp"
#include "serve/engine_memory.hpp"
#include "serve/scheduler_rules.hpp"

namespace llmcalc {

/// The rules of an engine's scheduler, including the block groups of its KV cache. `stage`: the pipeline stage whose
/// layers are counted; absent: all layers.
SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack, const std::optional<ModelChunk>& stage = {});

/// How the engine composes its passes.
constexpr Batching batching_of(const InferenceStack& stack) {
  return stack.prompts_first ? Batching::prompts_first : Batching::continuous;
}

/// The layout with vLLM's dispatch of tokens to experts on other ranks. Within a node, vLLM all-gathers the tokens of
/// all ranks and reduce-scatters the results, so each token reaches a rank once for all of the rank's experts. Across
/// nodes, a token is sent once to each node, and from there to its experts (DeepEP, github.com/deepseek-ai/DeepEP;
/// all-gather rings send it the same number of times). Without attention replicas, no engine exchanges tokens.
Layout with_gathered_tokens(Layout layout, const Cluster& cluster);

}  // namespace llmcalc
