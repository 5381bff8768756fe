#pragma once
/// Expert parallelism as a pass over operators (arXiv:2006.16668; folded as in Megatron-Core, arXiv:2504.14960):
/// experts are divided over e ranks, and the width of each over u expert-tensor ranks, taken from the ranks of tensor,
/// context and data parallelism. These collectives, in this order, precede the first expert matmul, and their mirror
/// images return the result; backward runs each in the opposite direction:
///   all-to-all over Group::expert             M = own tokens x top_k x hidden, forward and backward
///   all-gather over Group::expert_tensor      M = u times as much; in backward a reduce-scatter
///
/// A rank routes its own tokens (with tensor parallelism, its shard of the sequence), so it has own tokens x top_k x
/// u expert rows. Routing is balanced except for the factor Layout::expert_load, the rows of the most loaded rank
/// relative to a balanced load; rows are rounded up. The factor multiplies the work and memory of the most loaded
/// rank, and the M that it receives; with a capacity factor, every rank sends this M.
///
/// If Layout::expert_nodes limits the nodes of a token's experts, a token crosses the network once per node, to the
/// rank in the sender's position, which forwards it within the node (DeepSeek-V3, arXiv:2412.19437, 2.1.2 and 3.2.2).
/// With K = top_k, D nodes of r ranks and X = expected_nodes() of M / K bytes each (calc/links/collective_call.hpp):
///   between nodes   X (D-1)/D M / K      at most expert_nodes / K of M, instead of all of it
///   within nodes    (r-1)/r M            each of the K rows, from any node
/// The return is the mirror image: a node's rows are summed before they cross the network. With
/// Layout::once_per_rank (DeepEP's normal kernels, HybridEP), nodes need not be limited, and a rank receives a token
/// once for all of its experts: Y / K of the bytes within nodes are sent, where Y = expected_nodes() counts ranks
/// instead of nodes. Engines that gather all tokens before the experts and scatter the sums after them send only
/// slightly more.
///
/// Shared experts are dense MLPs and are sharded by tensor parallelism; routers are replicated. Not counted: sorting of
/// received rows by expert, and the gates and counts that are sent.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Whether experts are sharded differently from the rest of the model: over several expert-parallel ranks, or by a
/// different number of ranks for their width. Otherwise, tensor parallelism shards experts like a dense MLP.
bool folds_experts(const Layout& layout);

/// The operators of a rank with its own experts. Apply before split_tensor(). Precondition: folds_experts(layout).
OpList split_experts(const OpList& ops, const Layout& layout);

/// Whether the operator's parameters belong to experts that are divided over Group::expert. Gradients of such
/// parameters are summed over Group::expert_data, all other gradients over data and context ranks.
constexpr bool is_divided_over_experts(const Op& op) { return op.component == Component::experts; }

/// Whether an inference engine has expert parallelism but no attention replicas, and holds every expert once.
inline bool replicates_tokens(const Layout& l) {
  return replicas(l) == 1 && ranks(l, Group::expert) > 1 &&
         mul(ranks(l, Group::expert), ranks(l, Group::expert_tensor)) == ranks(l, Group::tensor);
}

/// The layout of an inference engine with expert parallelism but without attention replicas: experts are sharded like
/// the other matrices. Every rank has all tokens, so none are exchanged; a rank reads as many expert weights as a shard
/// of every expert, and results are summed in the same all-reduce (vLLM, SGLang without an all-to-all backend,
/// TensorRT-LLM without attention_dp). Not counted: experts of unequal load.
constexpr Layout with_replicated_tokens(Layout l) {
  l.ep = 1;
  l.etp = 0;
  return l;
}

}  // namespace llmcalc
