#pragma once
/// Rows of a vocabulary that a training stack pads, so that tensor-parallel ranks have equal and aligned shards:
/// Megatron-LM's --make-vocab-size-divisible-by, a multiple for each rank. Padded rows are held, multiplied and part of
/// the logits; they are no parameters of the model, and no FLOPs of it.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Rows over all tensor-parallel ranks; the model's where nothing is padded.
Count padded_vocabulary(const Arch& arch, const Layout& layout);

/// Pads token table, head and loss of one rank's operators.
void pad_vocabulary(OpList& ops, const Layout& layout);

}  // namespace llmcalc
