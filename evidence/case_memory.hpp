#pragma once
/// Memory of the engine that ran an inference row.

#include <optional>

#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Memory as vLLM computes it at start-up, with the terms of the row's version. For other engines, excludes sampler
/// and library memory, which are unknown. Precondition: the case's `skip` is empty.
EngineMemory engine_memory(const InferenceCase& c);

/// Tokens in the KV caches of all replicas.
double cache_tokens(const InferenceCase& c);

/// Prediction for a memory figure, in bytes or tokens. Empty if the engine's allocation rules do not determine it.
std::optional<double> predicted_memory(const InferenceCase& c, const Figure& f);

}  // namespace llmcalc
