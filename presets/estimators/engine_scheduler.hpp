#pragma once
/// An engine's scheduler, from its limits, its memory and its profile.

#include "presets/estimators/inference_estimator.hpp"
#include "serve/engine_memory.hpp"
#include "serve/scheduler_rules.hpp"

namespace llmcalc {

/// The rules of an engine's scheduler, with the groups of blocks that its cache has.
SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack);

/// How vLLM sends tokens to experts on other ranks. On one node it gathers the tokens of all ranks, and scatters their
/// sums, so that a rank has a token once for all of its experts. Over several nodes a token goes once to each node, and
/// there on to its experts (DeepEP, github.com/deepseek-ai/DeepEP; rings of an all-gather send it as often).
Layout with_gathered_tokens(Layout layout, const Cluster& cluster);

}  // namespace llmcalc
