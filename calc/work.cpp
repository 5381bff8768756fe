#include "calc/work.hpp"

namespace llmcalc {
namespace {

void tally(Work& w, const Op& op, Count repeats, const Cost& c) {
  Flops& part = std::holds_alternative<Attention>(op.shape) ? w.core
                : op.component == Component::lm_head        ? w.head
                                                            : w.linear;
  part += repeats * c.model;
  w.executed += repeats * c.executed;
}

}  // namespace

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

Work forward_work(const Arch& arch, const Step& step, const Pricing& p, const TensorParallel& tp) {
  Work w;
  for_each_segment(arch, step, tp, [&](const Segment& s) {
    for (const Op& op : s.ops) tally(w, op, s.repeats, forward(op, p));
  });
  return w;
}

TrainingFlops training_flops(const Arch& arch, const Plan& plan) {
  const Pricing p = pricing(plan, Phase::training);
  TrainingFlops f;
  for_each_segment(arch, training_step(plan), {}, [&](const Segment& s) {
    for (const Op& op : s.ops) {
      const Cost fwd = s.repeats * forward(op, p), bwd = s.repeats * backward(op, p);
      const bool again = runs_again(plan, s, op);
      f.forward += fwd.model, f.backward += bwd.model, f.executed += fwd.executed + bwd.executed;
      if (again) f.recompute += fwd.model, f.executed += fwd.executed;
    }
  });
  f.model_total = f.forward + f.backward;
  f.hardware_total = f.model_total + f.recompute;
  return f;
}

}  // namespace llmcalc
