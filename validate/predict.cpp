#include "validate/predict.hpp"

#include "calc/cost.hpp"
#include "calc/liveness.hpp"
#include "calc/memory.hpp"
#include "calc/program.hpp"
#include "calc/work.hpp"

namespace llmcalc::validate {
namespace {

using model::Direction;

Count whole(Flops f) { return static_cast<Count>(f.value); }

/// Every layer of the model in order: embedding, blocks, head.
std::vector<Segment> layers(const Arch& arch, const Step& step) {
  const LayerKinds kinds = layer_kinds(arch);
  const Count input = mul(step.tokens(), arch.hidden);
  std::vector<Segment> all;
  all.push_back({SegmentKind::embedding, {}, 1, 0, embedding_ops(arch, step)});
  for (Count i = 0; i < arch.layers; ++i) {
    const LayerKind kind = kinds.kinds[kind_index(kinds, arch, i)];
    all.push_back({SegmentKind::block, kind, 1, input, block_ops(arch, kind, step)});
  }
  all.push_back({SegmentKind::head, {}, 1, input, head_ops(arch, step)});
  return all;
}

Entry entry(const Op& op, Direction d) { return {std::string(op.name), op.shape, d}; }

void forward_order(std::vector<Entry>& order, const Segment& s, Direction d) {
  for (const Op& op : s.ops) order.push_back(entry(op, d));
}

/// Last operator first; what recomputation runs again comes just before it is needed.
void backward_order(std::vector<Entry>& order, const Segment& s, const Plan& plan) {
  if (s.kind == SegmentKind::block && plan.recompute == Recompute::full) forward_order(order, s, Direction::recompute);
  for (std::size_t i = s.ops.size(); i-- > 0;) {
    if (plan.recompute == Recompute::selective && runs_again(plan, s, s.ops[i]))
      order.push_back(entry(s.ops[i], Direction::recompute));
    order.push_back(entry(s.ops[i], Direction::backward));
  }
}

void add_kept(Ledger& l, const Segment& s, const Plan& plan) {
  if (s.kind == SegmentKind::block && plan.recompute == Recompute::full) {
    l.kept["block.input"] += bytes_of(plan.precision, s.input_elements).value;
    return;
  }
  const KeptByOperator kept =
      kept_by_operator(s.ops, pricing(plan, Phase::training), s.input_elements, plan.recompute == Recompute::selective);
  for (std::size_t i = 0; i < s.ops.size(); ++i)
    if (kept[i] != Bytes()) l.kept[std::string(s.ops[i].name)] += kept[i].value;
}

/// FLOPs that are done: naive attention every pair, flash the causal ones.
void add_flops(std::map<std::string, Count>& to, const Op& op, const Cost& c) {
  if (c.executed != Flops()) to[std::string(op.name)] += whole(c.executed);
}

}  // namespace

Ledger predicted_training(const Arch& arch, const Plan& plan) {
  Ledger l;
  const Memory m = training_memory(arch, plan);
  l.bytes = {{"weights", m.weights.value},     {"gradients", m.gradients.value},
             {"optimizer", m.optimizer.value}, {"activations", m.activations.value},
             {"logits", m.logits.value},       {"workspace", m.workspace.value},
             {"peak", m.peak.value},           {"parameters", m.parameters}};
  const Pricing p = pricing(plan, Phase::training);
  const std::vector<Segment> all = layers(arch, training_step(plan));
  for (const Segment& s : all) {
    forward_order(l.order, s, Direction::forward);
    add_kept(l, s, plan);
    for (const Op& op : s.ops) {
      add_flops(l.forward, op, forward(op, p));
      add_flops(l.backward, op, backward(op, p));
      if (runs_again(plan, s, op)) add_flops(l.recompute, op, forward(op, p));
    }
  }
  for (std::size_t i = all.size(); i-- > 0;) backward_order(l.order, all[i], plan);
  return l;
}

Ledger predicted_inference(const Arch& arch, const Plan& plan) {
  Ledger l;
  const Memory m = inference_memory(arch, plan);
  l.bytes = {{"weights", m.weights.value},
             {"kv_cache", m.kv_cache.value},
             {"workspace", m.workspace.value},
             {"peak", m.peak.value},
             {"parameters", m.parameters}};
  const Count context = plan.prompt + plan.generate;
  const Step last = plan.kv_cache ? decode_step(plan, context) : prefill_step(plan, context);
  const Phase phase = plan.kv_cache ? Phase::decode : Phase::prefill;
  for (const Segment& s : layers(arch, prefill_step(plan, plan.prompt))) {
    forward_order(l.order, s, Direction::forward);
    for (const Op& op : s.ops) add_flops(l.forward, op, forward(op, pricing(plan, Phase::prefill)));
  }
  for (const Segment& s : layers(arch, last)) {
    forward_order(l.order, s, Direction::forward);
    for (const Op& op : s.ops) add_flops(l.backward, op, forward(op, pricing(plan, phase)));
  }
  return l;
}

}  // namespace llmcalc::validate
