#include "calc/train.hpp"

#include "calc/run.hpp"
#include "calc/search.hpp"
#include "calc/training/muon.hpp"

namespace llmcalc {

TrainingFlops training_flops(const WholeFlops& all) {
  TrainingFlops f{
      .forward = all.forward.total(), .backward = all.backward, .recompute = all.recomputed, .executed = all.executed};
  f.model_total = f.forward + f.backward;
  f.hardware_total = f.model_total + f.recompute;
  return f;
}

TrainingFlops training_flops(const Prices& prices, const Plan& plan, const Partition& partition) {
  if (!recomputes_block(plan)) return training_flops(prices.whole);
  WholeFlops all = prices.whole;  // the FLOPs as if all layers were recomputed
  for (std::size_t k = 0; k < prices.kinds.size(); ++k) {
    const LayerKind& kind = prices.kinds[k];
    Count once = kind.count;
    for (Count q = 0; q < partition.size(); ++q)
      once -= layers_in(kind, first_layers(partition[q], plan.recompute_layers));
    all.recomputed -= once * prices.layer(k).whole.recomputed;
    all.executed -= once * prices.layer(k).whole.executed_recompute;
  }
  for (const LayerPrice& part : prices.mtp()) {
    all.recomputed -= part.layers * part.whole.recomputed;
    all.executed -= part.layers * part.whole.executed_recompute;
  }
  return training_flops(all);
}

TrainingFlops training_flops(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  if (!recomputes_block(plan)) return training_flops(whole_flops(arch, plan, training_step(plan), Phase::training));
  const Prices prices = price(arch, plan, layout, cluster.device);
  return training_flops(prices, plan, partition(prices, plan, layout, cluster));
}

Flops update_flops(const Arch& arch, const Plan& plan) {
  if (!traits(plan.optimizer).orthogonalizes) return {};
  Step stored = training_step(plan);
  stored.absorbed = false;
  Flops all;
  for_each_operator(arch, plan, {}, stored, [&](const OperatorRow& row) {
    all += row.segment.repeats * newton_schulz(muon_matrices(row.op), plan.newton_schulz_steps).executed;
  });
  return all;
}

Work work_of_sequence(const Arch& arch, const Plan& plan, Count seq) {
  Plan one = plan;
  one.micro_batch = one.global_batch = 1;
  one.seq = seq;
  one.documents = {};
  one.attention = AttentionImpl::flash;  // same model FLOPs as naive attention, but without stored scores, whose
                                         // bytes could overflow
  return whole_flops(arch, one, training_step(one), Phase::training).forward;
}

std::optional<Count> attention_equals_rest_seq(const Arch& arch, const Plan& plan) {
  // Everything except the cores costs the same for every token.
  const Work token = work_of_sequence(arch, plan, 1);
  InplaceVector<std::pair<Shape, Count>, 2 * most_kinds> cores;
  for_each_operator(arch, plan, {}, training_step(plan), [&](const OperatorRow& row) {
    if (reads_past(row.op.shape)) cores.push({row.op.shape, row.segment.repeats});
  });
  Pricing p = pricing(plan, Phase::training);
  p.documents = {};
  return first(longest_searched, [&](Count seq) {
    Flops all;
    for (auto [core, layers] : cores) {
      set_queries(core, 1, seq);
      set_keys(core, seq);
      all += layers * forward(core, p).model;
    }
    return all >= seq * (token.linear + token.head);
  });
}

double tokens_per_second(const TrainEstimate& e, const StepTime& t) {
  return static_cast<double>(e.tokens) / t.total().value;
}

namespace {
double utilization_by(Flops of_micro_batch, const TrainEstimate& e, const StepTime& t, const Plan& plan,
                      const Layout& layout, const Device& device) {
  const double per_token =
      static_cast<double>(of_micro_batch.value) / static_cast<double>(mul(plan.micro_batch, plan.seq));
  return utilization(per_token, tokens_per_second(e, t), devices(layout), device.peak(plan.precision));
}
}  // namespace

double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                         const Device& device) {
  return utilization_by(e.flops.model_total, e, t, plan, layout, device);
}
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Layout& layout,
                            const Device& device) {
  return utilization_by(e.flops.hardware_total, e, t, plan, layout, device);
}

}  // namespace llmcalc
