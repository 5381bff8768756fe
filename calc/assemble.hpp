#pragma once
/// From rows to a pass: what all layers of a stage do, send and take, under either roofline. Arithmetic on rows, no
/// operators.

#include "calc/price.hpp"

namespace llmcalc {

/// The sum over layers of one or more directions.
struct PassSum {
  Cost cost;
  Time bound, estimate;
  Exchanges exchanges;
  /// `costs`: FLOPs and bytes too, which only the roofline of a step and a rank's own work ask for.
  void add(const PassPrice& pass, Count layers, bool costs);
};

/// Time of a pass: seconds at the datasheet's rates, and at measured or stated efficiencies; the latter equal the
/// former where there are none.
struct PassTime {
  Time bound, estimate;
};

/// Compute, memory and latency under the plan's roofline, and exchanges as far as nothing overlaps them.
PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster);

/// Exchanges of several groups, each over its own link.
ExchangeTime exchange_time(const Exchanges& all, const Layout& layout, const Cluster& cluster);

}  // namespace llmcalc
