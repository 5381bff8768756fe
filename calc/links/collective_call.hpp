#pragma once
/// Communication between ranks in one direction of a layer: messages and bytes by group and operation. The group's link
/// determines the time (calc/links/collective.hpp), linear in messages and bytes for a given algorithm. Collectives
/// of the same operation and size form one CollectiveCall, because the algorithm may depend on the size.

#include "calc/inplace_vector.hpp"
#include "calc/layout.hpp"
#include "calc/links/collective.hpp"
#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// `messages` collectives of one operation over one group; `bytes` is the total, counted as M in
/// calc/links/collective.hpp.
struct CollectiveCall {
  Group group = Group::tensor;
  CollectiveOp op = CollectiveOp::all_reduce;
  Count messages = 0;
  Bytes bytes;
  ExpertRouting routing{};  ///< routing of the rows sent to experts
  Count beside = 0;         ///< number of messages that can overlap with weight gradients, which do not depend on the
                            ///< messages
  Count for_weights = 0;    ///< number of messages that only weight gradients depend on
};

class CollectiveCalls {
 public:
  void add(const CollectiveCall& e);
  bool empty() const { return list_.empty(); }
  const CollectiveCall* begin() const { return list_.begin(); }
  const CollectiveCall* end() const { return list_.end(); }

 private:
  // Capacity: 3 calls for tensor parallelism (all-gather, reduce-scatter, all-reduce), 2 for context, 1 for expert
  // and 2 for expert-tensor parallelism. The remaining entries are for calls with other message sizes.
  InplaceVector<CollectiveCall, 16> list_;
};

/// Adds the messages of a collective in forward or in backward. In backward, a collective may be a different
/// operation, and may also regather a saved shard. `regathers_for_weights`: whether only weight gradients need the
/// regathered tensor.
void add_forward(CollectiveCalls& all, const Collective& c, const Pricing& p);
void add_backward(CollectiveCalls& all, const Collective& c, const Pricing& p, bool regathers_for_weights = false);

/// Expected number of nodes to which a token is sent. E experts are spread evenly over `nodes` nodes. A router picks
/// K = top_k experts on at most `most` nodes (0: all nodes), with all choices equally likely. Of A = min(most, nodes)
/// nodes with e = E / nodes experts each, a node is missed if all K picks fall on the (A - 1) e experts of the other
/// nodes:
///   A (1 - C((A - 1) e, K) / C(A e, K)) = A (1 - product over i < K of ((A - 1) e - i) / (A e - i))
/// The result exceeds neither A nor K. DeepSeek-V3 (arXiv:2412.19437, 2.1.2) limits nodes in this way. Not modeled:
/// its routers first pick the best-matching nodes and then choose among their experts, and some experts are more
/// popular than others.
double expected_nodes(const ExpertRouting& r, double nodes, Count most);

/// Seconds of collectives. `waits`: messages x rounds x latency. `transfer`: load x bytes / bandwidth.
struct CommunicationTime {
  Seconds waits, transfer;
  constexpr Seconds total() const { return waits + transfer; }
  constexpr CommunicationTime& operator+=(const CommunicationTime& o) {
    waits += o.waits;
    transfer += o.transfer;
    return *this;
  }
};
CommunicationTime communication_time(const CollectiveCall& e, CollectiveAlgorithm algorithm, Count ranks,
                                     const Link& link);
/// Rounds of one pass over n ranks if trees carry short messages: 2 log2(n) + 4. For each message, NCCL uses the
/// faster of a ring and a tree of logarithmic depth (NCCL 2.4, double binary trees between nodes).
double tree_rounds(double ranks);
/// Time of collectives at a level's achieved rates. `outer`: whether the level is not the innermost.
CommunicationTime communication_time(const CollectiveCall& e, CollectiveAlgorithm algorithm, Count ranks,
                                     const Link& link, const LinkRates& reached, bool outer);
/// Time of collectives with the operation's default algorithm: a ring; pairwise for an all-to-all; one message for p2p.
CommunicationTime communication_time(const CollectiveCall& e, Count ranks, const Link& link);

}  // namespace llmcalc
