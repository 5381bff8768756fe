#pragma once
/// Estimates of decode steps of one plan at any context. Only attention cores depend on the context; everything else
/// is priced once.

#include "calc/pipeline/chunk.hpp"
#include "calc/step/assemble.hpp"

namespace llmcalc {

/// One inference pass: model FLOPs of the whole model, cost of one rank, and time.
struct PassEstimate : PassTime {
  Flops flops;  ///< model FLOPs under the plan's attention convention, whole model
  Cost rank;    ///< FLOPs executed and bytes moved by one rank, summed over the stages
};

/// Estimates a pass from the rows of price_pass() for this plan and layout.
PassEstimate assemble_pass(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);
/// Estimates a pass through one chunk; `flops` still counts the whole model.
PassEstimate assemble_pass(const Prices& prices, const ModelChunk& chunk, const Plan& plan, const Layout& layout,
                           const Cluster& cluster);

class PassCurve {
 public:
  /// `largest_context`: the context for which workspace() returns the peak.
  PassCurve(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count largest_context);
  /// Covers the steps of one chunk; their `flops` still count the whole model.
  PassCurve(const Arch& arch, const ModelChunk& chunk, const Plan& plan, const Layout& layout, const Cluster& cluster,
            Count largest_context);

  /// Estimate of a step with one new token per sequence, included in `context`.
  PassEstimate at(Count context) const;
  /// Peak bytes of the pass at the largest context, excluding weights and cache.
  Bytes workspace() const;
  /// Prices without the attention cores.
  const Prices& prices() const { return prices_; }

 private:
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  Cores cores_;
  Prices prices_;  ///< prices excluding the attention cores
  ModelChunk chunk_;
  PassSum sum_;
  Flops flops_;
};

}  // namespace llmcalc
