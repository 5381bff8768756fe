#pragma once
/// Sums of rows: FLOPs, bytes, exchanges and time of all layers of a stage, under either roofline.

#include "calc/price.hpp"

namespace llmcalc {

/// The sum over layers of one or more directions.
struct PassSum {
  Cost cost;
  Time bound, estimate;
  Exchanges exchanges;
  /// Adds `layers` times `pass`. `costs`: FLOPs and bytes too, for the roofline of a step or a rank's own work.
  void add(const PassPrice& pass, Count layers, bool costs);
};

/// Time of a pass: seconds at the datasheet's rates, and at measured or stated efficiencies (equal where there are
/// none).
struct PassTime {
  Time bound, estimate;
};

/// Time of a pass: compute, memory and latency under the plan's roofline, and the exchanges that nothing overlaps.
PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster);

/// Time of the exchanges of several groups, each over its own link.
ExchangeTime exchange_time(const Exchanges& all, const Layout& layout, const Cluster& cluster);

}  // namespace llmcalc
