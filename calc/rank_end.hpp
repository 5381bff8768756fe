#pragma once
/// The end of a step on one rank: after its last backward it sums gradients and runs the optimizer.

#include "calc/offload.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/spent.hpp"

namespace llmcalc {

class RankEnd {
 public:
  RankEnd(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, const Rates& rates,
          const Pipeline& pipeline)
      : prices_(prices), plan_(plan), layout_(layout), cluster_(cluster), rates_(rates), pipeline_(pipeline) {}

  /// Sums besides those over data-parallel ranks: gradients that tensor-parallel ranks share; those of a token table
  /// that the first and the last stage share; in DualPipe those of the rank's chunks (of its shards), of which another
  /// rank has copies.
  Spent sums(const HeldRows& rows) const;
  /// The optimizer's pass over the states that the rank updates, and the device's part of it.
  UpdateSeconds updating(const HeldRows& rows) const;
  Spent update(const HeldRows& rows) const;

 private:
  Seconds over(Group g, CollectiveOp op, Bytes bytes) const;
  Bytes gradients(Count numbers) const { return Bytes(mul(plan_.gradient_bytes, numbers)); }
  States updated(const HeldRows& rows) const { return updated_states(held_sums(prices_, rows), plan_, layout_); }
  const Prices& prices_;
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  const Rates& rates_;
  const Pipeline& pipeline_;
};

}  // namespace llmcalc
