#pragma once
/// The end of a step on one rank: gradient reductions after its last backward, and the optimizer.

#include "calc/pipeline/schedule.hpp"
#include "calc/spent.hpp"
#include "calc/step/row_time.hpp"
#include "calc/training/offload.hpp"

namespace llmcalc {

class RankEnd {
 public:
  RankEnd(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, Efficiency e,
          const Pipeline& pipeline)
      : prices_(prices),
        plan_(plan),
        layout_(layout),
        cluster_(cluster),
        full_(e == Efficiency::full),
        rates_(rates_of(prices, e)),
        pipeline_(pipeline) {}

  /// Gradient reductions other than across data-parallel ranks: for weights that tensor-parallel ranks replicate; for
  /// a token embedding that the first and the last stage share; and in DualPipe, for (the shards of) the rank's
  /// chunks, because another rank holds a copy of them.
  Spent sums(const HeldRows& rows) const;
  /// Seconds to update the rank's states; `device` is the total of update().
  UpdateSeconds updating(const HeldRows& rows) const;
  /// The optimizer's pass over the states that the rank updates, Muon's iterations, and the host's overhead per step.
  ///
  /// Distributed Muon (arXiv:2502.16982, 2.3; with tensor parallelism, as in the "duplicated" mode of Megatron-Core's
  /// TensorParallelMuon): the iterations run exactly, on whole matrices. With sharded states the ranks divide whole
  /// matrices among themselves: each spends its share of the time, but at least the time of the largest matrix. They
  /// gather the momentum of all matrices in bf16. This is the paper's upper bound; less is gathered if shards split
  /// few matrices. Tensor-parallel ranks then gather the matrices that are sharded across them, also in bf16, and all
  /// do the same work. Without sharding, every rank processes all matrices.
  Spent update(const HeldRows& rows) const;

 private:
  Seconds over(Group g, CollectiveOp op, Bytes bytes) const;
  void orthogonalize(const Orthogonalizing& all, Count matrices, ParameterClass c, Spent& s) const;
  void orthogonalize(const HeldRows& rows, Spent& s) const;
  Bytes gradients(Count numbers) const { return Bytes(mul(summed_gradient_bytes(plan_), numbers)); }
  States updated(const HeldRows& rows) const { return updated_states(held_sums(prices_, rows), plan_, layout_); }
  const Prices& prices_;
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  bool full_;
  const Rates& rates_;
  const Pipeline& pipeline_;
};

}  // namespace llmcalc
