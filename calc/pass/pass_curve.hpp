#pragma once
/// Decode steps of one plan at any context: only the attention cores depend on it, so the rest is priced once.

#include "calc/step/assemble.hpp"

namespace llmcalc {

/// One inference pass: its model FLOPs (whole model), what one rank executes and moves, and its time.
struct PassEstimate : PassTime {
  Flops flops;  ///< model FLOPs under the plan's attention convention, whole model
  Cost rank;    ///< of one rank
};

/// The estimate from the rows of price_pass() for this plan and layout.
PassEstimate assemble_pass(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster);

class PassCurve {
 public:
  /// `largest_context`: the context of workspace().
  PassCurve(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count largest_context);

  /// Estimate of one new token for every sequence; `context` counts it.
  PassEstimate at(Count context) const;
  /// Peak bytes that the pass at the largest context holds besides weights and cache.
  Bytes workspace() const;

 private:
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  Cores cores_;
  Prices prices_;  ///< prices of all but the cores
  PassSum sum_;
  Flops flops_;
};

}  // namespace llmcalc
