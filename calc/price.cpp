#include "calc/price.hpp"

#include <algorithm>
#include <array>

#include "calc/parallel/expert.hpp"
#include "calc/training/gradient_flow.hpp"
#include "calc/training/muon.hpp"
#include "calc/training/recompute.hpp"

namespace llmcalc {
namespace {

/// Whether backward recomputes this operator's forward pass. Segments that backward skips are never recomputed.
bool recomputes(const Plan& plan, SegmentKind segment, bool backward, const Op& op) {
  if (!backward) return false;
  switch (plan.recompute) {
    case Recompute::none:
      return false;
    case Recompute::selective:
      return holds_any(plan.recompute_modules, op) && (has_backward(op) || discards_result(plan.recompute_modules, op));
    case Recompute::full:
      return segment == SegmentKind::block;
  }
  return false;
}

Flops& part(Work& w, const Op& op) {
  if (reads_past(op.shape)) return w.core;
  return op.component == Component::lm_head ? w.head : w.linear;
}

void add_time(Time& all, WorkTime& work, const Op& op, const Time& t) {
  all += t;
  const bool product = std::holds_alternative<Linear>(op.shape) || std::holds_alternative<LinearAttention>(op.shape);
  const bool core = reads_past(op.shape);
  (product ? work.matmul : core ? work.attention : work.elementwise) += t.compute + t.memory;
}

/// Adds the cost of one direction of one operator and, if there is a device, its time.
void add_operator(PassPrice& pass, const Op& op, const Cost& c, const Pricing& p, Direction direction, const Plan& plan,
                  const Prices& prices) {
  pass.cost += c;
  if (prices.bound_rates.memory.value <= 0) return;
  const double executed = static_cast<double>(c.executed.value), moved = c.moved.total();
  if (plan.roofline == Roofline::step) {
    const auto alone = [&](const Rates& r) { return Time{.compute = Seconds(executed / format_rate(op, r).value)}; };
    add_time(pass.bound, pass.bound_work, op, alone(prices.bound_rates));
    if (prices.estimated) add_time(pass.estimate, pass.estimate_work, op, alone(prices.estimated_rates));
    return;
  }
  const auto with_host = [&](Time t, const Rates& r) {
    t.memory += host_seconds(op, c, p, r);
    return t;
  };
  add_time(pass.bound, pass.bound_work, op,
           with_host(op_time(executed, moved, op_rates(op, prices.bound_rates)), prices.bound_rates));
  if (!prices.estimated) return;
  const Rates& rates = prices.estimated_rates;
  const OpRates own = prices.uniform ? op_rates(rates) : reached(op, c, p, direction, rates);
  add_time(pass.estimate, pass.estimate_work, op, with_host(op_time(executed, moved, own), rates));
  if (!prices.uniform && executed + moved > 0) pass.kernels += kernels(op, p, rates.software);
}

/// Prices segments in order and visits each operator once.
class Pricer {
 public:
  Pricer(const Plan& plan, const Layout& layout, const Device& device, Phase phase, Prices& prices)
      : plan_(plan), layout_(layout), p_(pricing(plan, phase, layout)), prices_(prices) {
    prices.bound_rates = bound_rates(device, plan);
    prices.estimated_rates = paced_rates(device, plan, phase);
    prices.estimated = has_estimate(device, plan);
    prices.uniform = prices.estimated_rates.uniform();
  }

  /// Prices a segment. `holds`: whether its operators own the stored weights.
  void add(const Segment& s, bool holds) {
    holds_ = holds;
    LayerPrice& row = prices_.rows.push({.segment = s.kind, .layers = s.repeats, .backward = s.backward, .mtp = s.mtp});
    const bool uncut = &s.whole == &s.ops;
    for (const Op& op : s.ops)
      if (!is_aside(op)) price(row, s.ops, op, uncut);
    if (!uncut)
      for (const Op& op : s.whole)
        if (!is_aside(op)) count(row, op, costs(op, p_));
    if (cores_ != nullptr) put_aside(s);
    prices_.whole += row.layers * row.whole;
    row.alive = liveness(s.ops, p_, s.input_elements, row.logits);
    row.summed = summed_gradients(s.ops, layout_, Group::tensor);
    row.for_weights = read_for_weights(s.ops);
    if (holds) orthogonalize(row, s);
  }

  /// Counts only the FLOPs of a segment.
  void count(const Segment& s) {
    LayerPrice row{.segment = s.kind, .backward = s.backward};
    for (const Op& op : s.whole) count(row, op, costs(op, p_));
    prices_.whole += s.repeats * row.whole;
  }

  /// Collects the attention cores of later segments in `cores` instead of pricing them.
  void put_cores_into(Cores& cores, Count context) {
    cores_ = &cores;
    context_ = context;
  }

  void hold(LayerPrice& row, const Segment& s) const {
    for (const Op& op : s.ops) hold(row, op);
    orthogonalize(row, s);
  }

 private:
  /// Whether an operator is collected in `cores_`: it is an attention core whose keys grow with the context.
  bool is_aside(const Op& op) const {
    const Attention* a = std::get_if<Attention>(&op.shape);
    return cores_ != nullptr && reads_past(op.shape) && (a == nullptr || !a->cross);
  }
  /// The collective that produces a matmul's input and regathers it in backward; null if there is none.
  static const Op* regathered(const OpList& ops, TensorId t) {
    for (const Op& op : ops)
      if (const Collective* c = std::get_if<Collective>(&op.shape); c && c->regather && op.out == t) return &op;
    return nullptr;
  }
  /// Whether only weight gradients read a collective's result (input gradients read the weight matrices instead).
  static bool is_for_weights(const OpList& ops, TensorId gathered) {
    return std::none_of(ops.begin(), ops.end(), [&](const Op& op) {
      const bool reads = std::find(op.in.begin(), op.in.end(), gathered) != op.in.end();
      return reads && !std::holds_alternative<Linear>(op.shape);
    });
  }
  /// Bytes of a matmul's input saved for its weight gradient. If the input is gathered, only the rank's shard is saved
  /// and regathered later (Megatron-LM's sequence parallelism, also in
  /// github.com/sail-sg/zero-bubble-pipeline-parallelism).
  Bytes input_for_weights(const OpList& ops, const Op& op, const Linear& l) const {
    const Op* gather = regathered(ops, op.in[0]);
    const Count all = mul(l.rows, l.in);
    return bytes_of(p_.activation, gather ? ceil_div(all, std::get<Collective>(gather->shape).ranks) : all);
  }
  /// Bytes saved for weight gradients. An input shared by several matmuls counts once, except that each mix of a
  /// token shift counts separately. Every rank saves the whole gradient of a row-sharded matmul's result.
  Bytes read_for_weights(const OpList& ops) const {
    std::array<bool, most_tensors> counted{}, mixed{};
    Bytes all;
    for (const Op& op : ops) {
      if (const Shift* s = std::get_if<Shift>(&op.shape)) mixed[op.out] = s->mixes > 1;
      const Linear* l = std::get_if<Linear>(&op.shape);
      if (l == nullptr || op.is_frozen()) continue;
      all += bytes_of(p_.activation, mul(l->rows, l->out));
      if (!counted[op.in[0]]) all += input_for_weights(ops, op, *l);
      counted[op.in[0]] = !mixed[op.in[0]];
    }
    return all;
  }
  void put_aside(const Segment& s) const {
    for (const Op& op : s.ops)
      if (is_aside(op)) {
        const Op* whole = std::find_if(s.whole.begin(), s.whole.end(), [&](const Op& o) { return o.name == op.name; });
        cores_->push(
            {op, *whole, prices_.rows.size() - 1, s.repeats, &s.whole != &s.ops, context_ - keys_of(op.shape)});
      }
  }

  /// Prices one operator of one rank. `whole`: whether the operator is not sharded, so it also counts for the whole
  /// model.
  void price(LayerPrice& row, const OpList& ops, const Op& op, bool whole) {
    const bool recomputed = p_.training() && recomputes(plan_, row.segment, row.backward, op);
    if (const Collective* c = std::get_if<Collective>(&op.shape)) return collective_call(row, ops, op, *c, recomputed);
    const Costs c = costs(op, p_);
    run(row.forward, op, c.forward, Direction::forward);
    if (recomputed) run(row.recomputed, op, c.forward, Direction::forward);
    if (p_.training()) run_backward(row, op, c);
    if (whole) count(row, op, c);
    if (holds_) hold(row, op);
  }

  void run_backward(LayerPrice& row, const Op& op, const Costs& c) const {
    if (has_input_gradient(op)) run(row.backward_input, op, c.backward_input, Direction::backward_input);
    if (c.backward_weight.moved.weights > 0)
      run(row.backward_weight, op, c.backward_weight, Direction::backward_weight);
    if (const Loss* loss = std::get_if<Loss>(&op.shape)) row.logits = logits_bytes(*loss, p_);
  }

  bool is_divided(const Op& op) const { return folds_experts(layout_) && is_divided_over_experts(op); }

  /// Records weights that the operator uses but that belong to another operator.
  void borrow(LayerPrice& row, const Op& op) const {
    (is_divided(op) ? row.borrowed.experts : row.borrowed.own) += learned(op.shape).total;
    row.borrowed.weights += weight_bytes(op.shape, stored(op, p_));
  }

  void hold(LayerPrice& row, const Op& op) const {
    row.cache += cache_row(op.shape, p_);
    if (op.borrowed) return borrow(row, op);
    const Learned mine = learned(op);
    const bool divided = is_divided(op);
    row.learned += mine;
    if (divided) row.experts += mine;
    hold_table(row, op);
    const Bytes bytes = weight_bytes(op.shape, stored(op, p_));
    row.weights += bytes;
    prices_.weights[static_cast<std::size_t>(op.owner)][stored_component(op.shape, op.component)] += row.layers * bytes;
    if (op.is_frozen()) (divided ? row.frozen_experts : row.frozen) += bytes;
  }

  /// Records the token embedding that a tied head or MTP modules use. With MTP modules, the head's rank always holds a
  /// token embedding.
  void hold_table(LayerPrice& row, const Op& op) const {
    Op own = op;
    if (Linear* l = std::get_if<Linear>(&own.shape); l != nullptr && l->tied && !row.mtp) {
      l->tied = false;
      row.tied += learned(own);
      if (op.is_frozen()) row.tied_frozen += weight_bytes(own.shape, stored(own, p_));
    }
    if (Lookup* t = std::get_if<Lookup>(&own.shape); t != nullptr && t->tied) {
      LayerPrice& head = prices_.rows[1 + prices_.kinds.size()];
      t->tied = false;
      if (head.tied.total == 0) head.tied = learned(own);
    }
  }

  /// Adds Muon's work on the matrices that this rank holds, whole or as a shard.
  void orthogonalize(LayerPrice& row, const Segment& s) const {
    if (!traits(plan_.optimizer).orthogonalizes || !p_.training()) return;
    for (const Op& op : s.ops) {
      const Matrices mine = muon_matrices(op);
      if (mine.count == 0) continue;
      Matrices whole = matrices_of(s.whole, op.name);
      whole.count = mine.count;
      (is_divided(op) ? row.muon_experts : row.muon) +=
          Orthogonalizing{orthogonalized(whole, prices_.bound_rates), orthogonalized(whole, prices_.estimated_rates),
                          whole == mine ? 0 : whole.numbers()};
    }
  }
  static Matrices matrices_of(const OpList& ops, std::string_view name) {
    for (const Op& op : ops)
      if (const Matrices m = muon_matrices(op); op.name == name && m.count > 0) return m;
    return {};
  }
  /// Time of the Newton-Schulz iterations; 0 without a device.
  Orthogonalizing::Clocked orthogonalized(const Matrices& all, const Rates& r) const {
    if (r.memory.value <= 0) return {};
    const Cost one = newton_schulz({1, all.in, all.out}, plan_.newton_schulz_steps);
    const bool whole_step = plan_.roofline == Roofline::step;
    const Time t = whole_step ? Time{.compute = one.executed / r.orthogonalizing}
                              : op_time(one, {.compute = r.orthogonalizing, .memory = r.memory, .exposed = r.exposed});
    return {static_cast<double>(all.count) * t, t.total()};
  }

  void collective_call(LayerPrice& row, const OpList& ops, const Op& op, const Collective& c, bool recomputed) const {
    add_forward(row.forward.collectives, c, p_);
    if (recomputed) add_forward(row.recomputed.collectives, c, p_);
    if (p_.training()) add_backward(row.backward_input.collectives, c, p_, c.regather && is_for_weights(ops, op.out));
  }

  void run(PassPrice& pass, const Op& op, const Cost& c, Direction direction) const {
    add_operator(pass, op, c, p_, direction, plan_, prices_);
  }

  /// Adds the FLOPs of an operator before sharding.
  void count(LayerPrice& row, const Op& op, const Costs& c) const {
    part(row.whole.forward, op) += c.forward.model;
    row.whole.backward += c.backward_input.model + c.backward_weight.model;
    row.whole.executed += c.forward.executed + c.backward_input.executed + c.backward_weight.executed;
    if (!p_.training() || !recomputes(plan_, row.segment, row.backward, op)) return;
    row.whole.recomputed += c.forward.model;
    row.whole.executed += c.forward.executed;
    row.whole.executed_recompute += c.forward.executed;
  }

  const Plan& plan_;
  const Layout& layout_;
  Pricing p_;
  Prices& prices_;
  bool holds_ = true;
  Cores* cores_ = nullptr;
  Count context_ = 0;  ///< context length of the collected cores
};

/// Calls visit for every segment of a pass.
template <typename Visit>
void walk(const Arch& arch, const LayerKinds& kinds, const Step& step, const Layout& layout, const Visit& visit) {
  for_each_segment(arch, kinds, step, layout, visit);
}

}  // namespace

Prices price_pass(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, const Step& step,
                  Phase phase) {
  Prices prices;
  prices.kinds = layer_kinds(arch, step.frozen, step.low_precision);
  Pricer pricer(plan, layout, device, phase, prices);
  const bool absorbed = step.absorbed && arch.attention == AttentionKind::latent;
  walk(arch, prices.kinds, step, layout, [&](const Segment& s) { pricer.add(s, !absorbed); });
  if (!absorbed) return prices;
  Step stored = step;
  stored.absorbed = false;
  std::size_t row = 0;
  walk(arch, prices.kinds, stored, layout, [&](const Segment& s) { pricer.hold(prices.rows[row++], s); });
  return prices;
}

WholeFlops whole_flops(const Arch& arch, const Plan& plan, const Step& step, Phase phase) {
  Prices prices;
  Pricer pricer(plan, {}, {}, phase, prices);
  walk(arch, layer_kinds(arch, step.frozen, step.low_precision), step, {}, [&](const Segment& s) { pricer.count(s); });
  return prices.whole;
}

Prices price(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  return price_pass(arch, plan, layout, device, training_step(plan), Phase::training);
}

Prices price_prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count tokens) {
  return price_pass(arch, plan, layout, device, prefill_step(plan, tokens), Phase::prefill);
}

Prices price_decode(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, Count context) {
  if (!plan.kv_cache) return price_prefill(arch, plan, layout, device, context);
  return price_pass(arch, plan, layout, device, decode_step(plan, context), Phase::decode);
}

Prices price_last(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  if (!plan.kv_cache) return price_prefill(arch, plan, layout, device, add(plan.prompt, plan.generate));
  return price_pass(arch, plan, layout, device, last_step(plan), Phase::decode);
}

Prices price_without_cores(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                           const Step& step, Cores& cores) {
  Prices prices;
  prices.kinds = layer_kinds(arch);
  Pricer pricer(plan, layout, device, Phase::decode, prices);
  pricer.put_cores_into(cores, add(step.past, step.queries));
  walk(arch, prices.kinds, step, layout, [&](const Segment& s) { pricer.add(s, false); });
  return prices;
}

CorePrice price_core(const Core& core, const Prices& prices, const Plan& plan, const Layout& layout, Count context) {
  const Pricing p = pricing(plan, Phase::decode, layout);
  const auto at_context = [&](Op op) {
    set_keys(op.shape, context - core.other);
    return op;
  };
  const Op op = at_context(core.op);
  const Cost c = forward(op, p);
  CorePrice r;
  add_operator(r.pass, op, c, p, Direction::forward, plan, prices);
  r.whole = core.cut ? forward(at_context(core.whole), p).model : c.model;
  return r;
}

void for_each_operator(const Arch& arch, const Plan& plan, const Layout& layout, const Step& step,
                       const std::function<void(const OperatorRow&)>& visit) {
  walk(arch, layer_kinds(arch, step.frozen, step.low_precision), step, layout, [&](const Segment& s) {
    for (std::size_t i = 0; i < s.ops.size(); ++i)
      visit({s, i, s.ops[i], step.training && recomputes(plan, s.kind, s.backward, s.ops[i])});
  });
}

}  // namespace llmcalc
