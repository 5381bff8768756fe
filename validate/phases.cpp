#include "validate/phases.hpp"

#include "calc/memory.hpp"
#include "calc/program.hpp"
#include "calc/work.hpp"

namespace llmcalc::validate {
namespace {

void tally(PhaseWork& to, Count times, const Op& op, bool backward, const Cost& c) {
  if (c.executed != Flops()) to.runs.push_back({std::string(op.name), op.shape, backward, times, c.executed});
  to.flops += static_cast<double>((times * c.executed).value);
  to.moved += static_cast<double>(times) * c.moved.total();
}

PhaseWork pass(const std::string& name, const Arch& arch, const Step& step, const Pricing& p) {
  PhaseWork one{name};
  for_each_segment(arch, step, {}, [&](const Segment& s) {
    for (const Op& op : s.ops) tally(one, s.repeats, op, false, forward(op, p));
  });
  return one;
}

}  // namespace

std::vector<PhaseWork> training_phases(const Arch& arch, const Plan& plan) {
  const Pricing p = pricing(plan, Phase::training);
  PhaseWork back{"backward"};
  for_each_segment(arch, training_step(plan), {}, [&](const Segment& s) {
    for (const Op& op : s.ops) {
      tally(back, s.repeats, op, true, backward(op, p));
      if (runs_again(plan, s, op)) tally(back, s.repeats, op, false, forward(op, p));
    }
  });
  const double update = static_cast<double>(optimizer_traffic(training_states(arch, plan), plan).value);
  return {pass("forward", arch, training_step(plan), p), back, {"optimizer", 0, update}};
}

std::vector<PhaseWork> inference_phases(const Arch& arch, const Plan& plan) {
  const Count context = add(plan.prompt, plan.generate);
  const PhaseWork prompt = pass("prefill", arch, prefill_step(plan, plan.prompt), pricing(plan, Phase::prefill));
  if (!plan.kv_cache) return {prompt, pass("decode", arch, prefill_step(plan, context), pricing(plan, Phase::prefill))};
  return {prompt, pass("decode", arch, decode_step(plan, context), pricing(plan, Phase::decode))};
}

}  // namespace llmcalc::validate
