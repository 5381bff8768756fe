#include "calc/step/row_time.hpp"

#include <utility>

#include "calc/elementary.hpp"
#include "calc/memory.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/training/offload.hpp"

namespace llmcalc {
namespace {

/// Under Roofline::step: the seconds of a micro-batch divided by its compute seconds. Above 1 if the
/// micro-batch is memory-bound.
double slowed_by_memory(const Prices& prices, const Plan& plan, const Rates& rates, bool full) {
  if (plan.roofline != Roofline::step) return 1;
  Seconds compute;
  Cost cost;
  for (const LayerPrice& row : prices.rows)
    for (const PassPrice* pass : {&row.forward, &row.backward_input, &row.backward_weight, &row.recomputed}) {
      compute += static_cast<double>(row.layers) * (full ? pass->bound : pass->estimate).compute;
      cost += row.layers * pass->cost;
    }
  return step_time(compute, cost, rates).total() / compute;
}

/// Converts prices to seconds, at bound or estimated rates. `links` gives the times of collectives.
class Clock {
 public:
  Clock(const Prices& prices, const Plan& plan, const Layout& layout, Links& links, Efficiency e)
      : plan_(plan),
        layout_(layout),
        links_(links),
        full_(e == Efficiency::full),
        shared_(ranks(layout, Group::data) > 1),
        experts_shared_(ranks(layout, Group::expert_data) > 1),
        paired_(pairs_experts(layout)),
        apart_(ranks(layout, Group::pipeline) > 1 && splits_backward(layout.schedule)),
        rates_(rates_of(prices, e)),
        slowed_(slowed_by_memory(prices, plan, rates_, full_)) {}

  /// Seconds of the forward work that backward recomputes.
  Spent recomputed(const LayerPrice& row) {
    Spent s;
    spend(row.recomputed, s);
    return s;
  }

  /// Seconds of recomputed expert collectives, if they can overlap with another slot's work.
  Seconds recomputed_expert_collective(const LayerPrice& row) {
    return paired_ ? expert_collective(row.recomputed) : Seconds();
  }

  void put(const LayerPrice& row, RowTime& t) {
    const bool also_recomputed = plan_.recompute != Recompute::none && !recomputes_block(plan_);
    spend(row.forward, t.forward);
    const Seconds left = spend(row.backward_input, t.backward_input, true);
    spend(row.backward_weight, t.backward_weight);
    hide(row.backward_input, left, t);
    if (also_recomputed) t.backward_input += recomputed(row);
    if (paired_) {
      t.experts_forward = expert_collective(row.forward);
      t.experts_backward = expert_collective(row.backward_input);
      if (also_recomputed) t.experts_backward += expert_collective(row.recomputed);
    }
    if (!shared_ && !experts_shared_) return;
    Learned own = row.learned - row.experts;
    if (copies_table(layout_)) own += row.tied;
    if (shared_) share_out(own, row.borrowed.own, ParameterClass::dense, t);
    if (experts_shared_) share_out(row.experts, row.borrowed.experts, ParameterClass::experts, t);
  }

  /// Adds exposed host transfers. They overlap with a row's other work, but not with expert collectives that can
  /// overlap with another slot's work.
  void travel(const LayerPrice& row, bool recomputes, RowTime& t) const {
    const RowTravel bytes = row_travel(row, plan_, layout_, recomputes);
    const auto exposed = [&](Bytes up, Bytes down, const Spent& s) {
      const Seconds work = paired_ ? s.total() - s[Part::ep] : s.total();
      return beside(work, std::max(up, down) / rates_.host.link, rates_.hidden_overlapped) - work;
    };
    const bool every = sends_every_gradient(layout_);
    t.forward[Part::offload] = exposed(bytes.weights, bytes.activations, t.forward);
    const Bytes up = bytes.backward_weights + bytes.activations, down = every ? bytes.gradients : Bytes();
    Spent backward = t.backward_input;
    backward += t.backward_weight;
    if (apart_) {
      t.backward_input[Part::offload] = exposed(up, {}, t.backward_input);
      t.backward_weight[Part::offload] = exposed({}, down, t.backward_weight);
    } else {
      t.backward_input[Part::offload] = exposed(up, down, backward);
    }
    if (!every) t.down = bytes.gradients / rates_.host.link;
  }

 private:
  /// Adds a pass to `s`, which must be empty. In backward, excludes messages that only weight gradients wait for.
  /// Returns the seconds of the pass's work that do not overlap with a collective.
  Seconds spend(const PassPrice& pass, Spent& s, bool backward = false) {
    const Time& t = full_ ? pass.bound : pass.estimate;
    const WorkTime& work = full_ ? pass.bound_work : pass.estimate_work;
    s.compute = t.compute;
    s.memory = t.memory;
    s[Part::matmul] = work.matmul;
    s[Part::attention] = work.attention;
    s[Part::elementwise] = work.elementwise;
    s[Part::host] = t.latency;
    if (slowed_ > 1) {
      s = slowed_ * s;
      std::swap(s.compute, s.memory);
    }
    const Seconds waiting = full_ ? Seconds() : waiting_for_host(pass, s.total());
    s[Part::host] += waiting;
    Seconds left = s.total();
    const Seconds core = s[Part::attention];
    for (const CollectiveCall& e : pass.collectives) {
      const Seconds all = backward ? (1 - for_weights(e)) * seconds(e) : seconds(e);
      const Seconds waits = passes_round(e) ? std::max(all - left, exposed(e, core, waiting, backward))
                                            : exposed(all, left, rates_.hidden(e.group));
      s[part_of(e.group)] += waits;
      left = left - (all - waits);
    }
    return left;
  }
  static Seconds exposed(Seconds all, Seconds work, double hidden) {
    return all <= work ? (1 - hidden) * all : all - hidden * work;
  }

  /// Subtracts from backward the tensor-parallel time that weight gradients hide, and moves to backward_weight the
  /// gathers that only weight gradients need. A schedule that defers weight gradients also defers these gathers;
  /// otherwise the sum is the same. If weight gradients are deferred, input gradients hide at most their `left`
  /// seconds, and weight gradients hide at most their own seconds of the gathers.
  void hide(const PassPrice& pass, Seconds left, RowTime& t) {
    const Seconds work = t.backward_weight.total(), more = hidden_by_weights(pass, work);
    const Seconds gathers = seconds_of(pass, &CollectiveCall::for_weights);
    const double share = gathers > Seconds() ? gathers / seconds_of(pass, &CollectiveCall::beside) : 0;
    const Seconds exposed = (1 - rates_.hidden_tensor) * gathers - share * more;
    Seconds &inputs = t.backward_input[Part::tp], &weights = t.backward_weight[Part::tp];
    inputs = inputs - (apart_ ? std::min((1 - share) * more, left) : (1 - share) * more);
    if (gathers > Seconds()) weights += std::max(exposed, gathers - work);
  }

  /// Additional seconds of tensor-parallel collectives that `work` seconds of weight gradients hide.
  Seconds hidden_by_weights(const PassPrice& pass, Seconds work) {
    if (rates_.hidden_by_weights <= rates_.hidden_tensor) return {};
    const Seconds all = seconds_of(pass, &CollectiveCall::beside);
    const Seconds hidden = all + work - beside(all, work, rates_.hidden_by_weights);
    return std::max(Seconds(), hidden - rates_.hidden_tensor * all);
  }

  /// Seconds of tensor-parallel messages of one kind.
  Seconds seconds_of(const PassPrice& pass, Count CollectiveCall::*kind) {
    Seconds all;
    for (const CollectiveCall& e : pass.collectives)
      if (e.group == Group::tensor && e.*kind > 0)
        all += static_cast<double>(e.*kind) / static_cast<double>(e.messages) * seconds(e);
    return all;
  }

  /// Seconds that a device, busy for `busy` seconds, waits for the host that launches its kernels and collectives.
  /// Device and host run concurrently, and either may be slower at times: together they take (busy^6 + host^6)^(1/6)
  /// seconds. The exponent is chosen, not fitted; 1 would give the sum, infinity the maximum. Not counted: host work
  /// other than launches.
  Seconds waiting_for_host(const PassPrice& pass, Seconds busy) const {
    const Software& software = rates_.software;
    double collectives = 0;
    for (const CollectiveCall& e : pass.collectives) collectives += static_cast<double>(e.messages);
    const double starts = collectives * static_cast<double>(ranks(layout_, Group::tensor));
    const Seconds host = pass.kernels * software.kernel + starts * software.collective;
    if (host <= Seconds()) return {};
    const Seconds longer = std::max(busy, host);
    const double shorter = std::min(busy, host) / longer, cube = shorter * shorter * shorter;
    return elementary::pow(1 + cube * cube, 1.0 / 6) * longer - busy;
  }

  /// Exposed seconds of a ring's messages, which overlap with the attention core and with the time that the device
  /// waits for the host.
  Seconds exposed(const CollectiveCall& e, Seconds core, Seconds waiting, bool backward) {
    RingTime t = ring_time(e, seconds(e), core, ranks(layout_, Group::context), backward);
    t.core += waiting;
    return t.exposed(rates_.hidden_overlapped, rates_.hidden_inside);
  }

  Seconds expert_collective(const PassPrice& pass) {
    Seconds all;
    for (const CollectiveCall& e : pass.collectives)
      if (e.group == Group::expert) all += seconds(e);
    return all;
  }
  Seconds seconds(const CollectiveCall& e) { return links_(e); }
  Seconds over(Group g, CollectiveOp op, Bytes bytes) {
    return seconds({.group = g, .op = op, .messages = 1, .bytes = bytes});
  }

  /// Adds the gathers of weights within a copy of the states, and the gradient reductions of trained weights: within
  /// a copy, then of shards between copies. Frozen weights, and weights of another layer, are gathered
  /// only under ZeRO-3, because this layer does not update them.
  void share_out(const Learned& numbers, Count borrowed, ParameterClass c, RowTime& t) {
    const StateGroups of = state_groups(c);
    const Count n = numbers.trained();
    const Count fetched = layout_.zero == Zero::weights ? add(numbers.total, borrowed) : n;
    const Bytes gradients(mul(summed_gradient_bytes(plan_), n));
    if (layout_.zero != Zero::none && fetched > 0)
      t.gather += over(of.shard, CollectiveOp::all_gather, bytes_of(training_weights(plan_), fetched));
    if (n == 0) return;
    if (layout_.zero == Zero::none) {
      t.reduce += over(of.all, CollectiveOp::all_reduce, gradients);
      return;
    }
    t.reduce += over(of.shard, CollectiveOp::reduce_scatter, gradients);
    const Bytes part(mul(summed_gradient_bytes(plan_), shard_of(layout_, c, n)));
    t.reduce += over(of.replica, CollectiveOp::all_reduce, part);
  }

  const Plan& plan_;
  const Layout& layout_;
  Links& links_;
  bool full_, shared_, experts_shared_, paired_, apart_;
  const Rates& rates_;
  double slowed_;
};

}  // namespace

Spent RowTimes::spent_in(const LayerKinds& kinds, const ModelChunk& c) const {
  Spent all;
  const auto add = [&](const RowTime& t, Count layers) {
    const double n = static_cast<double>(layers);
    const auto of = [&](const Seconds a, const Seconds b, const Seconds w) { return n * (a + b + w); };
    for (std::size_t i = 0; i < part_count; ++i)
      all.parts[i] += of(t.forward.parts[i], t.backward_input.parts[i], t.backward_weight.parts[i]);
    all.compute += of(t.forward.compute, t.backward_input.compute, t.backward_weight.compute);
    all.memory += of(t.forward.memory, t.backward_input.memory, t.backward_weight.memory);
  };
  if (c.embedding) add(embedding(), 1);
  for_each_kind(kinds, c, add);
  if (!c.head) return all;
  add(head(), 1);
  for (const RowTime& part : mtp()) add(part, modules);
  return all;
}

double for_weights(const CollectiveCall& e) {
  return e.group == Group::tensor && e.messages > 0
             ? static_cast<double>(e.for_weights) / static_cast<double>(e.messages)
             : 0;
}

RingTime ring_time(const CollectiveCall& e, Seconds all, Seconds core, Count ranks, bool backward) {
  const double alone = backward ? 1 / static_cast<double>(e.messages) : 0, steps = static_cast<double>(ranks);
  return {(1 - alone) * all, (steps - 1) / steps * core, alone * all};
}

const CommunicationTime& Links::of_one(const CollectiveCall& e) {
  for (const Kind& k : kinds_)
    if (k.group == e.group && k.op == e.op) return k.one;
  const CollectiveCall one{.group = e.group, .op = e.op, .messages = 1, .bytes = Bytes(1), .routing = e.routing};
  return kinds_.push({e.group, e.op, communication_time(one, layout_, cluster_, reached_)}).one;
}

Seconds send_seconds(const Prices& prices, const Layout& layout, const Cluster& cluster, Efficiency e) {
  const auto seconds = [&](Group g, CollectiveOp op, Bytes bytes) {
    const CollectiveCall sent{.group = g, .op = op, .messages = 1, .bytes = bytes};
    return communication_time(sent, layout, cluster, rates_of(prices, e).links).total();
  };
  const Bytes held = prices.layer(0).alive.input;
  const Count parts = sequence_parallel(layout) ? 1 : ranks(layout, Group::tensor);
  const Seconds sent = seconds(Group::pipeline, CollectiveOp::p2p, Bytes(ceil_div(held.value, parts)));
  return parts == 1 ? sent : sent + seconds(Group::tensor, CollectiveOp::all_gather, held);
}

RowTimes row_times(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, Links& links,
                   Efficiency e) {
  Clock clock(prices, plan, layout, links, e);
  RowTimes t;
  const Rates& rates = rates_of(prices, e);
  t.hidden = rates.hidden_overlapped;
  const Software& software = rates.software;
  if (ranks(layout, Group::pipeline) > 1 && software.waits_to_send + software.waits_to_send_chunks > 0) {
    const Seconds send = send_seconds(prices, layout, cluster, e);
    t.send = software.waits_to_send * send;
    t.send_of_chunks = software.waits_to_send_chunks * send;
  }
  const RowTime none;
  for (const LayerPrice& row : prices.rows) clock.put(row, t.rows.push(none));
  if (!prices.mtp().empty()) t.modules = prices.mtp()[0].layers;
  if (recomputes_block(plan)) t.first_recomputed = plan.recompute_layers;
  for (std::size_t i = 0; i < t.rows.size() && t.first_recomputed > 0; ++i) {
    RowTime& r = t.recomputed.push(t.rows[i]);
    r.backward_input += clock.recomputed(prices.rows[i]);
    r.experts_backward += clock.recomputed_expert_collective(prices.rows[i]);
  }
  if (!plan.offload.any()) return t;
  t.lands = plan.offload.optimizer.numerator > 0 && !sends_every_gradient(layout);
  for (std::size_t i = 0; i < t.rows.size(); ++i) clock.travel(prices.rows[i], false, t.rows[i]);
  for (std::size_t i = 0; i < t.recomputed.size(); ++i) clock.travel(prices.rows[i], true, t.recomputed[i]);
  return t;
}

RowTimes row_times(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster, Efficiency e) {
  Links links(layout, cluster, rates_of(prices, e).links);
  return row_times(prices, plan, layout, cluster, links, e);
}

Spent recompute_time(const LayerPrice& row, const Prices& prices, const Plan& plan, const Layout& layout, Links& links,
                     Efficiency e) {
  return Clock(prices, plan, layout, links, e).recomputed(row);
}

}  // namespace llmcalc
