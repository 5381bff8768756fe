#pragma once
/// Tensor and sequence parallelism (Shoeybi et al. 2019, arXiv:1909.08053; Korthikanti et al. 2022, arXiv:2205.05198)
/// as a pass over operators: shapes are cut for the most loaded of `ranks` ranks, and collectives inserted.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// The operators of one rank. Columns, rows, heads and vocabulary are cut (rounded up where they do not divide); norms,
/// routers and row-parallel biases stay whole; KV heads fewer than the ranks are replicated, the latent cache always
/// is. Before cut operators that read a whole tensor: an exchange in backward (all-reduce; with sequence parallelism
/// an all-gather in forward, a reduce-scatter in backward and the all-gather again for the weight gradient); after
/// row-cut ones an all-reduce in forward (reduce-scatter, with an all-gather in backward). A parallel block has one of
/// each. Under sequence parallelism a router sees the rank's own tokens.
OpList split_tensor(const OpList& ops, const Layout& layout);

/// Cuts the rows of an operator that works on single tokens, or of an exchange of such rows; rounded up.
void cut_tokens(Shape& shape, Count ranks);

/// Numbers whose gradients the tensor-parallel ranks sum once per step: weights of a norm that the heads share. With
/// sequence parallelism, also weights that see only a shard of the tokens: norms, routers, and biases added after the
/// sum. Gradients of experts on ranks of their own are no concern of the tensor-parallel ranks.
Count summed_over_tensor_ranks(const OpList& ops, const Layout& layout);

}  // namespace llmcalc
