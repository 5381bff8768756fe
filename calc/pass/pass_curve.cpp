#include "calc/pass/pass_curve.hpp"

#include "calc/memory.hpp"

namespace llmcalc {
namespace {

PassSum forward_sum(const Prices& prices) {
  PassSum sum;
  for (const LayerPrice& row : prices.rows) sum.add(row.forward, row.layers, true);
  return sum;
}

}  // namespace

PassEstimate assemble_pass(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  const PassSum sum = forward_sum(prices);
  return {pass_time(sum, prices, plan, layout, cluster), prices.whole.forward.total(), sum.cost};
}

PassCurve::PassCurve(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     Count largest_context)
    : plan_(plan),
      layout_(layout),
      cluster_(cluster),
      prices_(price_without_cores(arch, plan, layout, cluster.device, decode_step(plan, largest_context), cores_)),
      sum_(forward_sum(prices_)),
      flops_(prices_.whole.forward.total()) {}

PassEstimate PassCurve::at(Count context) const {
  PassSum sum = sum_;
  Flops flops = flops_;
  for (const Core& core : cores_) {
    const CorePrice p = price_core(core, prices_, plan_, layout_, context);
    sum.add(p.pass, core.layers, true);
    flops += core.layers * p.whole;
  }
  return {pass_time(sum, prices_, plan_, layout_, cluster_), flops, sum.cost};
}

Bytes PassCurve::workspace() const { return pass_workspace(prices_); }

}  // namespace llmcalc
