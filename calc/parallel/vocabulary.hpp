#pragma once
/// Padding of the vocabulary in training, so that tensor-parallel ranks have equal and aligned shards: Megatron-LM's
/// --make-vocab-size-divisible-by, a multiple per rank. Padded rows are stored, multiplied and part of the logits, but
/// count neither in the model's parameters nor in its FLOPs.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Number of vocabulary rows over all tensor-parallel ranks, including padding.
Count padded_vocabulary(const Arch& arch, const Layout& layout);

/// Pads token embedding, head and loss of one rank's operators.
void pad_vocabulary(OpList& ops, const Layout& layout);

}  // namespace llmcalc
