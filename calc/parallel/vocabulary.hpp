#pragma once
/// Vocabulary rows that a training stack pads so that tensor-parallel ranks have equal and aligned shards:
/// Megatron-LM's --make-vocab-size-divisible-by, a multiple for each rank. Padded rows are stored, multiplied and part
/// of the logits, but count neither as parameters of the model nor as its FLOPs.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Rows over all tensor-parallel ranks; the model's vocabulary if it is not padded.
Count padded_vocabulary(const Arch& arch, const Layout& layout);

/// Pads token table, head and loss of one rank's operators.
void pad_vocabulary(OpList& ops, const Layout& layout);

}  // namespace llmcalc
