#pragma once
/// Exchanges between ranks in one direction of a layer: messages and bytes by group and operation. The group's link
/// gives their time (calc/collective.hpp) by ring algorithms, in which time is linear in both.

#include "calc/collective.hpp"
#include "calc/in_place.hpp"
#include "calc/layout.hpp"
#include "calc/op.hpp"
#include "calc/pricing.hpp"

namespace llmcalc {

/// `messages` collectives of one operation over one group, `bytes` in all, counted as M in calc/collective.hpp.
struct Exchange {
  Group group = Group::tensor;
  CollectiveOp op = CollectiveOp::all_reduce;
  Count messages = 0;
  Bytes bytes;
};

class Exchanges {
 public:
  void add(const Exchange& e);
  bool empty() const { return list_.empty(); }
  const Exchange* begin() const { return list_.begin(); }
  const Exchange* end() const { return list_.end(); }

 private:
  InPlace<Exchange, 6> list_;
};

/// Adds the messages of a collective in forward, or in backward: its own operation, and the regather of a saved shard.
void add_forward(Exchanges& all, const Collective& c, const Pricing& p);
void add_backward(Exchanges& all, const Collective& c, const Pricing& p);

/// Seconds of ring collectives: messages x rounds x latency, and load x bytes / bandwidth.
struct ExchangeTime {
  Seconds waits, transfer;  ///< transfer: at full bandwidth
  constexpr Seconds at(double share) const { return waits + (1 / share) * transfer; }
};
ExchangeTime exchange_time(const Exchange& e, Count ranks, const Link& link);

}  // namespace llmcalc
