#pragma once
/// Tensor and sequence parallelism (Shoeybi et al. 2019, arXiv:1909.08053; Korthikanti et al. 2022, arXiv:2205.05198)
/// as a pass over operators that shards shapes for the most loaded of `ranks` ranks and inserts collectives.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// The operators of one rank. Columns, rows, heads and vocabulary are sharded, rounded up if they do not divide
/// evenly. Norms, routers, row-parallel biases and the latent cache are replicated, and so are KV heads if there are
/// fewer of them than ranks. Collectives before sharded operators that read a whole tensor: an all-reduce in backward;
/// with sequence parallelism an all-gather in forward, a reduce-scatter in backward and a second all-gather for the
/// weight gradient. Collectives after row-sharded operators: an all-reduce in forward; with sequence parallelism a
/// reduce-scatter, and
/// an all-gather in backward. A parallel block has one collective of each kind. With sequence parallelism a router
/// sees the rank's own tokens.
OpList split_tensor(const OpList& ops, const Layout& layout);

/// Shards the rows of an operator that works on single tokens, or of a collective on such rows; rounded up.
void cut_tokens(Shape& shape, Count ranks);

/// Number of parameters whose gradients the tensor-parallel ranks all-reduce once per step: replicated weights whose
/// results sharded operators read, such as a norm that the heads share. With sequence parallelism, also weights that
/// see only a shard of the tokens: norms, routers, and biases added after the sum. Excludes experts on separate ranks.
Count summed_over_tensor_ranks(const OpList& ops, const Layout& layout);

}  // namespace llmcalc
