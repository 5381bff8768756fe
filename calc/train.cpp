#include "calc/train.hpp"

#include "calc/run.hpp"
#include "calc/search.hpp"

namespace llmcalc {
namespace {

PassSum micro_batch(const Prices& prices, const Plan& plan) {
  PassSum sum;
  const auto add = [&](const PassPrice& pass, Count layers) { sum.add(pass, layers, plan.roofline == Roofline::step); };
  for (const LayerPrice& row : prices.rows) {
    add(row.forward, row.layers);
    add(row.backward_input, row.layers);
    add(row.backward_weight, row.layers);
    if (plan.recompute != Recompute::none) add(row.again, row.layers);
  }
  return sum;
}

/// The sum of those gradients that tensor-parallel ranks share, once per step.
Exchanges gradient_sums(const Prices& prices, const Plan& plan) {
  Count numbers = 0;
  for (const LayerPrice& row : prices.rows) numbers = add(numbers, mul(row.layers, row.summed));
  Exchanges all;
  if (numbers > 0)
    all.add({.group = Group::tensor,
             .op = CollectiveOp::all_reduce,
             .messages = 1,
             .bytes = Bytes(mul(numbers, plan.gradient_bytes))});
  return all;
}

}  // namespace

TrainingFlops training_flops(const WholeFlops& all) {
  TrainingFlops f{
      .forward = all.forward.total(), .backward = all.backward, .recompute = all.again, .executed = all.executed};
  f.model_total = f.forward + f.backward;
  f.hardware_total = f.model_total + f.recompute;
  return f;
}

TrainingFlops training_flops(const Arch& arch, const Plan& plan) {
  return training_flops(whole_flops(arch, plan, training_step(plan), Phase::training));
}

Work work_of_sequence(const Arch& arch, const Plan& plan, Count seq) {
  Plan one = plan;
  one.micro_batch = one.global_batch = 1;
  one.seq = seq;
  one.attention = AttentionImpl::flash;  // changes no model FLOPs, and stores no scores that could overflow
  return whole_flops(arch, one, training_step(one), Phase::training).forward;
}

std::optional<Count> attention_equals_rest_seq(const Arch& arch, const Plan& plan) {
  // All but the cores does the same for every token.
  const Work token = work_of_sequence(arch, plan, 1);
  InPlace<std::pair<Attention, Count>, 8> cores;
  for_each_operator(arch, plan, {}, training_step(plan), [&](const OperatorRow& row) {
    if (const Attention* core = std::get_if<Attention>(&row.op.shape)) cores.push({*core, row.segment.repeats});
  });
  const Pricing p = pricing(plan, Phase::training);
  return first(longest_searched, [&](Count seq) {
    Flops all;
    for (auto [core, layers] : cores) {
      core.sequences = 1;
      core.queries = core.keys = seq;
      all += layers * forward(core, p).model;
    }
    return all >= seq * (token.linear + token.head);
  });
}

TrainEstimate assemble(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  TrainEstimate e{.memory = training_memory(prices, plan, cluster.device.achieved.overhead),
                  .flops = training_flops(prices.whole),
                  .bound = {},
                  .estimate = {},
                  .estimated = prices.estimated,
                  .tokens = mul(plan.global_batch, plan.seq)};
  const PassTime one = pass_time(micro_batch(prices, plan), prices, plan, layout, cluster);
  const States states{e.memory.weights, e.memory.gradients, e.memory.optimizer, e.memory.parameters};
  const ExchangeTime sums = exchange_time(gradient_sums(prices, plan), layout, cluster);
  const auto optimizer = [&](const Rates& r) {
    return Time{.memory = optimizer_traffic(states, plan) / r.memory,
                .communication = (1 - plan.overlap) * sums.at(r.link)};
  };
  const double n = static_cast<double>(micro_batches(plan, layout));
  e.bound = {n * one.bound, optimizer(prices.bound_rates)};
  e.estimate = e.estimated ? StepTime{n * one.estimate, optimizer(prices.estimated_rates)} : e.bound;
  return e;
}

TrainEstimate train(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  return assemble(price(arch, plan, layout, cluster.device), plan, layout, cluster);
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
