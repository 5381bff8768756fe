#include "calc/train.hpp"

#include "calc/program.hpp"

namespace llmcalc {
namespace {

/// Is this operator's forward pass run again during backward?
bool runs_again(const Plan& plan, const Segment& s, const Op& op) {
  switch (plan.recompute) {
    case Recompute::none:
      return false;
    case Recompute::selective:
      return std::holds_alternative<Attention>(op.shape);
    case Recompute::full:
      return s.kind == SegmentKind::block;
  }
  return false;
}

/// Numbers of the weights that every rank holds whole: under sequence parallelism each sees the gradient of its own
/// tokens only, and they are summed once per step.
Count replicated(const OpList& ops) {
  Count n = 0;
  for (const Op& op : ops)
    if (op.split == Split::tokens) n = add(n, learned(op.shape).total);
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
  Count whole = 0;
  const auto run = [&](const Shape& shape, Count repeats, bool is_backward) {
    bound.run(shape, repeats, is_backward);
    if (e.estimated) estimate.run(shape, repeats, is_backward);
  };
  for_each_segment(arch, training_step(plan), tensor_parallel(plan), [&](const Segment& s) {
    for (const Op& op : s.ops) {
      run(op.shape, s.repeats, false);
      run(op.shape, s.repeats, true);
      if (runs_again(plan, s, op)) run(op.shape, s.repeats, false);
    }
    whole = add(whole, mul(s.repeats, replicated(s.ops)));
  });

  const double micro_batches = static_cast<double>(plan.accumulation());
  const States states{e.memory.weights, e.memory.gradients, e.memory.optimizer, e.memory.parameters};
  const auto optimizer = [&](const Rates& r) {
    Time t{.memory = optimizer_traffic(states, plan) / r.memory};
    if (!plan.sp || plan.tp == 1) return t;
    const Collective sum{.forward_on = true, .elements = whole, .ranks = plan.tp, .number_bytes = plan.gradient_bytes};
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
double utilization(Flops one, const StepTime& t, const Plan& plan, const Device& device) {
  const double done = static_cast<double>(one.value) * static_cast<double>(plan.accumulation());
  return done / (t.total().value * static_cast<double>(plan.tp) * device.peak(plan.precision).value);
}
}  // namespace

double model_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device) {
  return utilization(e.flops.model_total, t, plan, device);
}
double hardware_utilization(const TrainEstimate& e, const StepTime& t, const Plan& plan, const Device& device) {
  return utilization(e.flops.hardware_total, t, plan, device);
}

}  // namespace llmcalc
