#pragma once
/// Default limits of an engine's passes.

#include <optional>

#include "presets/estimators/engine_memory_table.hpp"
#include "presets/stack/engine_law.hpp"

namespace llmcalc {

/// The limits in the engine's file; vLLM's (usual_limits()) for limits that the file omits, and without a file.
/// `longest`: tokens of the longest request.
EngineLimits default_limits(const EngineHost& host, const std::optional<EngineLaw>& law, Count longest = 0);

}  // namespace llmcalc
