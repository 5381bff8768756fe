#pragma once
/// An engine's scheduler, from its limits, its memory and its profile.

#include "presets/inference_estimator.hpp"
#include "serve/engine_memory.hpp"
#include "serve/scheduler_rules.hpp"

namespace llmcalc {

SchedulerRules scheduler_rules(const Arch& arch, const EngineMemory& memory, const EngineLimits& limits,
                               const InferenceStack& stack);

}  // namespace llmcalc
