#pragma once
/// Memory of the engine that ran a row of inference.

#include <optional>

#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// By the law of vLLM's start, with the terms of the row's version; of other engines, whose samplers and libraries are
/// not known, without these two. Precondition: the case is not to be skipped.
EngineMemory engine_memory(const InferenceCase& c);

/// Tokens in the KV caches of all replicas.
double cache_tokens(const InferenceCase& c);

/// A memory that a row states, in bytes or tokens; nothing where the law does not tell it.
std::optional<double> predicted_memory(const InferenceCase& c, const Figure& f);

}  // namespace llmcalc
