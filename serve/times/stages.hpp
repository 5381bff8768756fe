#pragma once
/// Pipeline stages of a serving engine.

#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

/// The chunk of stage i of p. Each stage has L / p of L layers, rounded down. The remaining layers go to the last
/// stages, one each, but not to the very last stage, which has the head (vLLM, distributed/utils.py, get_pp_indices).
/// Preconditions: 0 <= i < p <= L.
ModelChunk served_stage(Count layers, Count stages, Count i);

}  // namespace llmcalc
