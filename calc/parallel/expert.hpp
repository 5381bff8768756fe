#pragma once
/// Expert parallelism as a pass over operators (arXiv:2006.16668; folded as in Megatron-Core, arXiv:2504.14960):
/// experts are divided over e ranks, and the width of each over u expert-tensor ranks, taken from the ranks of tensor,
/// context and data parallelism. The first expert product reads what these exchanges bring, in this order, and the
/// result goes back through their mirror images; backward runs each the other way round:
///   all-to-all over Group::expert             M = own tokens x top_k x hidden, forward and backward
///   all-gather over Group::expert_tensor      M = u times as much; backward a reduce-scatter
///
/// A rank routes its own tokens (with tensor parallelism its shard of the sequence), so that a rank's expert rows are
/// own tokens x top_k x u. Routing is balanced but for Layout::expert_load: the rows of the most loaded rank over the
/// balanced number, rounded up. It multiplies what such a rank computes and holds, and M, of which the most loaded rank
/// receives so much; with a capacity factor every rank sends it.
///
/// Where Layout::expert_nodes limits the nodes of a token's experts, a token crosses the network once for each node, to
/// the rank there that has its sender's place, which sends it on inside (DeepSeek-V3, arXiv:2412.19437, 2.1.2
/// and 3.2.2): with K = top_k, D nodes of r ranks and X = expected_nodes() of M / K bytes each
/// (calc/links/exchange.hpp)
///   between nodes   X (D-1)/D M / K      at most expert_nodes / K of M, in place of all of it
///   inside          (r-1)/r M            each of the K rows, wherever it came from
/// The way back is the mirror image: a node's rows are summed before they cross. Where Layout::once_per_rank holds, a
/// rank has a token once for all its experts, so that X / K of M moves with X = expected_nodes() of ranks; engines that
/// gather all tokens before the experts and scatter the sums behind them send hardly more.
///
/// Shared experts are dense MLPs and follow tensor parallelism; routers stay whole. Left out: the order by expert in
/// which received rows are put, and gates and counts that are sent.

#include "calc/layout.hpp"
#include "calc/operator/op.hpp"

namespace llmcalc {

/// Whether experts lie over ranks of their own: over several, or cut in width otherwise than the rest of the model.
/// Else tensor parallelism cuts them as it cuts a dense MLP.
bool folds_experts(const Layout& layout);

/// The operators of a rank with its own experts, before split_tensor(). A layout that folds_experts().
OpList split_experts(const OpList& ops, const Layout& layout);

/// Whether the operator's learned numbers belong to the experts of one rank among ranks(Group::expert): their gradients
/// are summed over Group::expert_data. All others are summed over data and context ranks.
constexpr bool is_divided_over_experts(const Op& op) { return op.component == Component::experts; }

}  // namespace llmcalc
