#include "validate/phases.hpp"

#include "calc/block/program.hpp"
#include "calc/memory.hpp"
#include "calc/train.hpp"

namespace llmcalc::validate {
namespace {

void tally(PhaseWork& to, Count times, const Op& op, bool backward, const Cost& c) {
  if (c.executed != Flops()) to.runs.push_back({std::string(op.name), op.shape, backward, times, c.executed});
  to.flops += static_cast<double>((times * c.executed).value);
  to.moved += static_cast<double>(times) * c.moved.total();
}

PhaseWork pass(const std::string& name, const Arch& arch, const Plan& plan, const Step& step, Phase phase) {
  PhaseWork one{name};
  const Pricing p = pricing(plan, phase);
  for_each_operator(arch, plan, {}, step, [&](const OperatorRow& row) {
    tally(one, row.segment.repeats, row.op, false, forward(row.op, p));
  });
  return one;
}

}  // namespace

std::vector<PhaseWork> training_phases(const Arch& arch, const Plan& plan) {
  const Pricing p = pricing(plan, Phase::training);
  PhaseWork back{"backward"};
  for_each_operator(arch, plan, {}, training_step(plan), [&](const OperatorRow& row) {
    tally(back, row.segment.repeats, row.op, true, backward(row.op, p));
    if (row.recomputed) tally(back, row.segment.repeats, row.op, false, forward(row.op, p));
  });
  const double update = static_cast<double>(optimizer_traffic(training_states(arch, plan), plan).value);
  return {pass("forward", arch, plan, training_step(plan), Phase::training), back, {"optimizer", 0, update}};
}

std::vector<PhaseWork> inference_phases(const Arch& arch, const Plan& plan) {
  const Count context = add(plan.prompt, plan.generate);
  const PhaseWork prompt = pass("prefill", arch, plan, prefill_step(plan, plan.prompt), Phase::prefill);
  if (!plan.kv_cache) return {prompt, pass("decode", arch, plan, prefill_step(plan, context), Phase::prefill)};
  return {prompt, pass("decode", arch, plan, last_step(plan), Phase::decode)};
}

}  // namespace llmcalc::validate
