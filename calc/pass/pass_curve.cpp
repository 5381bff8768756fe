#include "calc/pass/pass_curve.hpp"

#include "calc/memory.hpp"

namespace llmcalc {
namespace {

PassSum forward_sum(const Prices& prices, const ModelChunk& chunk) {
  PassSum sum;
  for (std::size_t i = 0; i < prices.rows.size(); ++i)
    if (const Count n = layers_of_row(prices, i, chunk); n > 0) sum.add(prices.rows[i].forward, n, true);
  return sum;
}

}  // namespace

PassEstimate assemble_pass(const Prices& prices, const ModelChunk& chunk, const Plan& plan, const Layout& layout,
                           const Cluster& cluster) {
  const PassSum sum = forward_sum(prices, chunk);
  return {pass_time(sum, prices, plan, layout, cluster), prices.whole.forward.total(), sum.cost};
}

PassEstimate assemble_pass(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  return assemble_pass(prices, whole_model(prices.kinds), plan, layout, cluster);
}

PassCurve::PassCurve(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     Count largest_context)
    : PassCurve(arch, whole_model(layer_kinds(arch)), plan, layout, cluster, largest_context) {}

PassCurve::PassCurve(const Arch& arch, const ModelChunk& chunk, const Plan& plan, const Layout& layout,
                     const Cluster& cluster, Count largest_context)
    : plan_(plan),
      layout_(layout),
      cluster_(cluster),
      prices_(price_without_cores(arch, plan, layout, cluster.device, decode_step(plan, largest_context), cores_)),
      chunk_(chunk),
      sum_(forward_sum(prices_, chunk)),
      flops_(prices_.whole.forward.total()) {}

PassEstimate PassCurve::at(Count context) const {
  PassSum sum = sum_;
  Flops flops = flops_;
  for (const Core& core : cores_) {
    const CorePrice p = price_core(core, prices_, plan_, layout_, context);
    sum.add(p.pass, layers_of_row(prices_, core.row, chunk_), true);
    flops += core.layers * p.whole;
  }
  return {pass_time(sum, prices_, plan_, layout_, cluster_), flops, sum.cost};
}

Bytes PassCurve::workspace() const { return pass_workspace(prices_); }

}  // namespace llmcalc
