#include "calc/assemble.hpp"

namespace llmcalc {

void PassSum::add(const PassPrice& pass, Count layers, bool costs) {
  const double n = static_cast<double>(layers);
  if (costs) cost += layers * pass.cost;
  bound += n * pass.bound;
  estimate += n * pass.estimate;
  for (Exchange e : pass.exchanges) {
    e.messages = mul(layers, e.messages);
    e.bytes = layers * e.bytes;
    exchanges.add(e);
  }
}

ExchangeTime exchange_time(const Exchanges& all, const Layout& layout, const Cluster& cluster) {
  ExchangeTime t;
  for (const Exchange& e : all) {
    const ExchangeTime one = exchange_time(e, ranks(layout, e.group), group_link(cluster, layout, e.group));
    t.waits += one.waits;
    t.transfer += one.transfer;
  }
  return t;
}

PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster) {
  const ExchangeTime exchanged = exchange_time(sum.exchanges, layout, cluster);
  const auto at = [&](const Rates& r, const Time& by_operator) {
    Time t = plan.roofline == Roofline::step ? step_time(by_operator.compute, sum.cost, r) : by_operator;
    t.communication += (1 - plan.overlap) * exchanged.at(r.link);
    return t;
  };
  const Time bound = at(prices.bound_rates, sum.bound);
  return {bound, prices.estimated ? at(prices.estimated_rates, sum.estimate) : bound};
}

}  // namespace llmcalc
