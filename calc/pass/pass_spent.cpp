#include "calc/pass/pass_spent.hpp"

namespace llmcalc {

namespace {

void add_row(Spent& all, const PassPrice& pass, double layers, bool estimated) {
  const Time& t = estimated ? pass.estimate : pass.bound;
  const WorkTime& work = estimated ? pass.estimate_work : pass.bound_work;
  all[Part::matmul] += layers * work.matmul;
  all[Part::attention] += layers * work.attention;
  all[Part::elementwise] += layers * work.elementwise;
  all[Part::host] += layers * t.latency;
}

}  // namespace

PassSpent pass_spent(const Prices& prices, const ModelChunk& chunk, const Plan& plan, const Layout& layout,
                     const Cluster& cluster) {
  const Rates& rates = prices.estimated ? prices.estimated_rates : prices.bound_rates;
  PassSpent spent{};
  PassSum sum;
  for (std::size_t i = 0; i < prices.rows.size(); ++i) {
    const Count n = layers_of_row(prices, i, chunk);
    add_row(spent.parts, prices.rows[i].forward, static_cast<double>(n), prices.estimated);
    if (n > 0) sum.add(prices.rows[i].forward, n, false);
  }
  for (const CollectiveCall& e : sum.collectives)
    spent.parts[part_of(e.group)] +=
        (1 - rates.hidden(e.group)) * communication_time(e, layout, cluster, rates.links).total();
  spent.engine = rates.software.pass(plan.batch);
  return spent;
}

}  // namespace llmcalc
