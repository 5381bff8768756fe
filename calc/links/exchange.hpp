#pragma once
/// Exchanges between ranks in one direction of a layer: messages and bytes by group and operation. The group's link
/// gives their time (calc/links/collective.hpp), by each algorithm linear in both. Collectives of one operation and
/// size are one exchange, so that the algorithm can be chosen by the size.

#include "calc/in_place.hpp"
#include "calc/layout.hpp"
#include "calc/links/collective.hpp"
#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// `messages` collectives of one operation over one group, `bytes` in all, counted as M in calc/links/collective.hpp.
struct Exchange {
  Group group = Group::tensor;
  CollectiveOp op = CollectiveOp::all_reduce;
  Count messages = 0;
  Bytes bytes;
  ExpertRouting routing{};  ///< of rows that are sent to experts
  Count beside = 0;         ///< messages that gradients of weights do not wait for: they can run beside them
  Count for_weights = 0;    ///< messages that gradients of weights alone wait for
};

class Exchanges {
 public:
  void add(const Exchange& e);
  bool empty() const { return list_.empty(); }
  const Exchange* begin() const { return list_.begin(); }
  const Exchange* end() const { return list_.end(); }

 private:
  // Tensor 3 (all-gather, reduce-scatter, all-reduce), context 2 more, expert 1, expert-tensor 2; room for other sizes.
  InPlace<Exchange, 16> list_;
};

/// Adds the messages of a collective in forward, or in backward: its own operation, and the regather of a saved shard,
/// which gradients of weights alone may need.
void add_forward(Exchanges& all, const Collective& c, const Pricing& p);
void add_backward(Exchanges& all, const Collective& c, const Pricing& p, bool regathers_for_weights = false);

/// The nodes to which a token is sent in the mean, where E experts lie evenly over `nodes` and a router chooses K =
/// top_k of those on `most` of them (0: on all), every choice as likely as any other. Of A = min(most, nodes) nodes
/// with e = E / nodes experts each, one is left out if all K fall on the (A - 1) e experts of the others:
///   A (1 - C((A - 1) e, K) / C(A e, K)) = A (1 - product over i < K of ((A - 1) e - i) / (A e - i))
/// At most A and at most K. DeepSeek-V3 (arXiv:2412.19437, 2.1.2) limits nodes so; its routers take the nodes whose
/// experts fit a token best, and choose among these: neither is modelled, nor that experts are not all alike.
double expected_nodes(const ExpertRouting& r, double nodes, Count most);

/// Seconds of the exchanges: messages x rounds x latency, and load x bytes / bandwidth.
struct ExchangeTime {
  Seconds waits, transfer;
  constexpr Seconds total() const { return waits + transfer; }
  constexpr ExchangeTime& operator+=(const ExchangeTime& o) {
    waits += o.waits;
    transfer += o.transfer;
    return *this;
  }
};
ExchangeTime exchange_time(const Exchange& e, CollectiveAlgorithm algorithm, Count ranks, const Link& link);
/// Rounds of one pass over n ranks where trees carry short messages, 2 log2(n) + 4: NCCL takes for each message the
/// faster of a ring and a tree, whose depth is logarithmic (NCCL 2.4, double binary trees between nodes).
double tree_rounds(double ranks);
/// The same at the rates that a level of links reaches, `outer`: one outside the innermost.
ExchangeTime exchange_time(const Exchange& e, CollectiveAlgorithm algorithm, Count ranks, const Link& link,
                           const LinkRates& reached, bool outer);
/// The same by the operation's default algorithm: rings, pairs for an all-to-all, one message for p2p.
ExchangeTime exchange_time(const Exchange& e, Count ranks, const Link& link);

}  // namespace llmcalc
