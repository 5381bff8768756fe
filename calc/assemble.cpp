#include "calc/assemble.hpp"

namespace llmcalc {

void PassSum::add(const PassPrice& pass, Count layers) {
  const double n = static_cast<double>(layers);
  cost += layers * pass.cost;
  bound += n * pass.bound;
  estimate += n * pass.estimate;
  for (Exchange e : pass.exchanges) {
    e.messages = mul(layers, e.messages);
    e.bytes = layers * e.bytes;
    exchanges.add(e);
  }
}

Seconds exchange_time(const Exchanges& all, const Layout& layout, const Cluster& cluster, double share) {
  Seconds s;
  for (const Exchange& e : all) {
    Link link = group_link(cluster, layout, e.group);
    link.bandwidth = share * link.bandwidth;
    s += exchange_time(e, ranks(layout, e.group), link);
  }
  return s;
}

PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster) {
  const auto at = [&](const Rates& r, const Time& by_operator) {
    Time t = plan.roofline == Roofline::step ? step_time(sum.cost, r) : by_operator;
    t.communication += (1 - plan.overlap) * exchange_time(sum.exchanges, layout, cluster, r.link);
    return t;
  };
  const Time bound = at(prices.bound_rates, sum.bound);
  return {bound, prices.estimated ? at(prices.estimated_rates, sum.estimate) : bound};
}

}  // namespace llmcalc
