#include "calc/train.hpp"

#include "calc/program.hpp"
#include "calc/run.hpp"

namespace llmcalc {
namespace {

/// Numbers whose gradients the ranks must sum once per step. Weights of a norm that the heads share: each rank sees its
/// own heads. Under sequence parallelism also what works on a shard of the tokens: norms, and the biases added after
/// the sum.
Count summed_gradients(const OpList& ops, bool sequence) {
  Count n = 0;
  for (const Op& op : ops) {
    const Norm* norm = std::get_if<Norm>(&op.shape);
    const Linear* linear = std::get_if<Linear>(&op.shape);
    const bool shared = norm && op.split == Split::heads && !norm->per_head;
    if (shared || (sequence && op.split == Split::tokens)) n = add(n, learned(op.shape).total);
    if (sequence && linear && linear->bias && op.split == Split::row) n = add(n, mul(linear->groups, linear->out));
  }
  return n;
}

}  // namespace

TrainEstimate train(const Arch& arch, const Plan& plan, const Device& device) {
  TrainEstimate e{.memory = training_memory(arch, plan),
                  .flops = training_flops(arch, plan),
                  .bound = {},
                  .estimate = {},
                  .estimated = has_estimate(device, plan),
                  .tokens = mul(plan.global_batch, plan.seq)};
  const Pricing p = pricing(plan, Phase::training);
  const Rates sure = bound_rates(device, plan), likely = estimated_rates(device, plan);
  Clock bound(sure, plan, p), estimate(likely, plan, p);
  Count summed = 0;
  const auto run = [&](const Op& op, Count repeats, bool is_backward) {
    bound.run(op, repeats, is_backward);
    if (e.estimated) estimate.run(op, repeats, is_backward);
  };
  for_each_segment(arch, training_step(plan), tensor_parallel(plan), [&](const Segment& s) {
    for (const Op& op : s.ops) {
      run(op, s.repeats, false);
      run(op, s.repeats, true);
      if (runs_again(plan, s, op)) run(op, s.repeats, false);
    }
    if (plan.tp > 1) summed = add(summed, mul(s.repeats, summed_gradients(s.ops, plan.sp)));
  });

  const double micro_batches = static_cast<double>(plan.accumulation());
  const States states{e.memory.weights, e.memory.gradients, e.memory.optimizer, e.memory.parameters};
  const auto optimizer = [&](const Rates& r) {
    Time t{.memory = optimizer_traffic(states, plan) / r.memory};
    if (summed == 0) return t;
    const Collective sum{.forward_on = true, .elements = summed, .ranks = plan.tp, .number_bytes = plan.gradient_bytes};
    return t += exchange_time(sum, p, r, plan.overlap, false);
  };
  e.bound = {micro_batches * bound.time(), optimizer(sure)};
  e.estimate = e.estimated ? StepTime{micro_batches * estimate.time(), optimizer(likely)} : e.bound;
  return e;
}

double tokens_per_second(const TrainEstimate& e, const StepTime& t) {
  return static_cast<double>(e.tokens) / t.total().value;
}

namespace {
double utilization_by(Flops of_micro_batch, const TrainEstimate& e, const StepTime& t, const Plan& plan,
                      const Device& device) {
  const double per_token =
      static_cast<double>(of_micro_batch.value) / static_cast<double>(mul(plan.micro_batch, plan.seq));
  return utilization(per_token, tokens_per_second(e, t), plan.tp, device.peak(plan.precision));
}
}  // namespace

double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device) {
  return utilization_by(e.flops.model_total, e, t, plan, device);
}
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device) {
  return utilization_by(e.flops.hardware_total, e, t, plan, device);
}

}  // namespace llmcalc
