#pragma once
/// Padding of the vocabulary in training, which gives tensor-parallel ranks equal and aligned shards: Megatron-LM's
/// --make-vocab-size-divisible-by, a multiple per rank. Padded rows are stored and multiplied and have logits, but
/// they count neither as parameters of the model nor in its FLOPs.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Number of vocabulary rows over all tensor-parallel ranks, including padding.
Count padded_vocabulary(const Arch& arch, const Layout& layout);

/// Pads token embedding, head and loss of one rank's operators.
void pad_vocabulary(OpList& ops, const Layout& layout);

}  // namespace llmcalc
