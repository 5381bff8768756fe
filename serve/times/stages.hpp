#pragma once
/// Pipeline stages of a serving engine.

#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

/// The chunk of stage i of p. Each has L / p of L layers, rounded down; the remaining layers go to the last stages, one
/// each, except the very last, which has the head (vLLM, distributed/utils.py, get_pp_indices). Preconditions: 0 <= i <
/// p <= L.
ModelChunk served_stage(Count layers, Count stages, Count i);

}  // namespace llmcalc
