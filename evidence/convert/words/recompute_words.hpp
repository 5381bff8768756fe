#pragma once
/// Operators that a training run recomputes in the backward pass, from its row.

#include <string>

#include "evidence/rows/recomputed.hpp"

namespace llmcalc {

/// Reads a row's "recompute": "none (recipe default)", "selective: layernorm, moe_act", "full (block, 16 of 32
/// layers)", "activation checkpointing, every other layer", "uniform 4". Text that is not understood means no
/// recomputation, with an assumption.
Recomputed recomputed_called(const std::string& said);

}  // namespace llmcalc
