// Pass times from the prices of calc/.

#include <algorithm>

#include "calc/step/row_time.hpp"
#include "serve/times/pass_times.hpp"
#include "serve/times/stages.hpp"

namespace llmcalc {
namespace {

/// Factors by which the slowest stage of a pipeline lengthens a pass (pass_times.hpp). For a single stage, they
/// change no time.
struct StagePace {
  Count stages = 1;
  double layers = 1;  ///< factor on the time of all layers: p M / L
  double slack = 0;   ///< layers by which the largest stage exceeds the last, relative to all: (M - M') / L
  explicit StagePace(const Arch& arch, const Layout& layout) : stages(ranks(layout, Group::pipeline)) {
    const auto in = [&](Count i) { return static_cast<double>(served_stage(arch.layers, stages, i).layers()); };
    double most = 0;
    for (Count i = 0; i < stages; ++i) most = std::max(most, in(i));
    const auto all = static_cast<double>(arch.layers);
    layers = static_cast<double>(stages) * most / all;
    slack = (most - in(stages - 1)) / all;
  }
};

/// Prices the attention cores of one phase as linear functions of their work.
class CoreLines {
 public:
  CoreLines(const Plan& plan, const Layout& layout, const Device& device, Phase phase)
      : pricing_(pricing(plan, phase, layout)),
        estimated_(has_estimate(device, plan)),
        rates_(estimated_ ? paced_rates(device, plan, phase) : bound_rates(device, plan)),
        queries_(phase == Phase::decode ? 1 : 1024) {}

  /// Adds the cores of `layers` layers, launched one after another. Each core takes max(c, m) + exposed * min(c, m) +
  /// launch overhead, where the compute time c is linear in query-key pairs and the memory time m is linear in
  /// queries and keys. Two shapes determine these rates, a chunk after `past` keys and a chunk after 2 `past` keys,
  /// because cost is linear in keys.
  void add(CoreTimes& lines, const Op& op, double layers) const {
    constexpr Count past = 4096;
    const Parts near = parts(op, past + queries_), far = parts(op, 2 * past + queries_);
    const double n = layers, q = static_cast<double>(queries_);
    const double pair = n * near.compute / static_cast<double>(chunk_work(past, queries_, {}).pairs);
    const double key = n * (far.memory - near.memory) / static_cast<double>(past);
    const double query = (n * near.memory - key * static_cast<double>(past + queries_)) / q;
    const double host = n * (far.host - near.host) / static_cast<double>(past);  // seconds to transfer a key from the
                                                                                 // host
    const auto line = [&](double compute, double memory) {
      return CoreRate{ticks(Seconds(n * near.launch)), ticks(Seconds(memory * query)),
                      ticks(Seconds(memory * key + host)), ticks(Seconds(compute * pair))};
    };
    const CoreTimes old = lines;
    lines = {};
    for (const CoreRate& r : {line(1, near.exposed), line(near.exposed, 1)}) push(lines, r, old);
  }

 private:
  struct Parts {
    double compute, memory, host, launch, exposed;
  };
  Parts parts(Op op, Count keys) const {
    if (Attention* core = std::get_if<Attention>(&op.shape)) {
      core->reach = {};
      core->selection = {};
      core->pooled = 0;
    }
    set_queries(op.shape, 1, queries_);
    set_keys(op.shape, keys);
    const Cost c = forward(op, pricing_);
    const OpRates r =
        estimated_ && !rates_.uniform() ? reached(op, c, pricing_, Direction::forward, rates_) : op_rates(op, rates_);
    return {static_cast<double>(c.executed.value) / r.compute.value, c.moved.total() / r.memory.value,
            host_seconds(op, c, pricing_, rates_).value, r.launch.value, r.exposed};
  }
  /// Appends a line, summed with the corresponding old line: layers of the same reach have equal attention shapes, so
  /// their lines can be summed.
  static void push(CoreTimes& lines, CoreRate r, const CoreTimes& old) {
    if (!old.empty()) {
      const CoreRate& o = old[lines.size()];
      r = {r.constant + o.constant, r.query + o.query, r.key + o.key, r.pair + o.pair};
    }
    lines.push(r);
  }

  Pricing pricing_;
  bool estimated_;
  Rates rates_;
  Count queries_;
};

/// The range of tokens that a core reads; unlimited: all tokens. Selected tokens are priced like a window. Selected
/// blocks count as if the query's own block were full. Pooled keys count if they are selected; pooled keys that every
/// query attends to, one per group of tokens, are excluded.
Reach limited_reach(const Shape& s) {
  const Attention* core = std::get_if<Attention>(&s);
  if (core == nullptr) return {};
  if (!core->selection.chooses()) return core->reach;
  return {(core->pooled > 0 ? core->reach.tokens : core->selection.block) + core->selection.keys};
}

Step with_modules(Step step, Count modules) {
  step.mtp = modules;
  return step;
}

/// Times of the cores of all layers, by reach. `drafts`: number of drafts that MTP modules propose per decoding
/// sequence.
std::array<CoreTimes, reach_kinds> core_times(const Arch& arch, const Plan& plan, const Layout& layout,
                                              const Device& device, Phase phase, Count drafts = 0) {
  std::array<CoreTimes, reach_kinds> all;
  const CoreLines cores(plan, layout, device, phase);
  const double pace = StagePace(arch, layout).layers;
  Step step = prefill_step(plan, 1);
  if (phase == Phase::decode) step = with_modules(decode_step(plan, 1), drafts);
  for_each_operator(arch, plan, layout, step, [&](const OperatorRow& row) {
    if (reads_past(row.op.shape))
      cores.add(all[limited_reach(row.op.shape).limited() ? 1 : 0], row.op,
                pace * static_cast<double>(row.segment.repeats));
  });
  return all;
}

/// The limited reach of the first layer that has one.
Reach first_limited_reach(const Arch& arch, const Plan& plan) {
  Reach found;
  for_each_operator(arch, plan, {}, decode_step(plan, 1), [&](const OperatorRow& row) {
    if (!found.limited()) found = limited_reach(row.op.shape);
  });
  return found;
}

/// Number of attention cores in a prompt pass.
Count core_count(const Arch& arch, const Plan& plan) {
  Count n = 0;
  for_each_operator(arch, plan, {}, prefill_step(plan, 1), [&](const OperatorRow& row) {
    if (reads_past(row.op.shape)) n += row.segment.repeats;
  });
  return n;
}

/// Seconds per sequence in a pass to read and write the state of linear attention.
double state_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  double all = 0;
  const Pricing p = pricing(plan, Phase::decode, layout);
  const Rates r = has_estimate(device, plan) ? paced_rates(device, plan, Phase::decode) : bound_rates(device, plan);
  for_each_operator(arch, plan, layout, decode_step(plan, 1), [&](const OperatorRow& row) {
    if (!std::holds_alternative<LinearAttention>(row.op.shape)) return;
    const double state = forward(row.op, p).moved.cache;
    const double way = r.host.link.value > 0 ? p.offload.cache.value() * state / r.host.link.value : 0;
    all += static_cast<double>(row.segment.repeats) * (state / r.memory.value + way);
  });
  return all;
}

/// Seconds of the experts in `step` if they are sharded across ranks; otherwise 0, because they count with the other
/// operators.
double expert_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device, const Step& step,
                      Phase phase) {
  if (ranks(layout, Group::expert) == 1) return 0;
  double all = 0;
  const Pricing p = pricing(plan, phase, layout);
  const Rates r = has_estimate(device, plan) ? paced_rates(device, plan, phase) : bound_rates(device, plan);
  for_each_operator(arch, plan, layout, step, [&](const OperatorRow& row) {
    if (row.op.component != Component::experts) return;
    all += static_cast<double>(row.segment.repeats) * operator_time(row.op, p, Direction::forward, r).total().value;
  });
  return all;
}

/// Computes the seconds of the parts of a pass of T rows.
class RowPricer {
 public:
  RowPricer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, const PassSizes& sizes)
      : arch_(arch),
        plan_(plan),
        layout_(layout),
        cluster_(cluster),
        sizes_(sizes),
        pace_(arch, layout),
        cores_(core_count(arch, plan)),
        state_(with_batch(plan, 1).kv_cache ? state_seconds(arch, with_batch(plan, 1), layout, cluster.device) : 0) {}

  double state() const { return pace_.layers * state_; }
  /// Seconds of all operators except attention cores, heads, sharded experts, and the state of linear attention, which
  /// is counted per sequence.
  double rows(Count n) const {
    const Prices p = of_rows(n);
    return beside(p, n) + pace_.layers * (layers(p, n) - expert_part(n) + adapters(n)) + sends(p);
  }
  double experts(Count n) const { return pace_.layers * expert_part(n); }
  /// Seconds of the model's head.
  double head(Count n) const {
    const double alone = head_alone(n);
    if (pace_.stages == 1) return alone;
    return static_cast<double>(pace_.stages) * std::max(0.0, alone - pace_.slack * layers(of_rows(n), n));
  }
  /// Seconds of `each` drafts for each of n sequences. Excludes the first run of every MTP module, which is part of
  /// rows().
  double drafts(Count n, Count each) const {
    const Count again = each - plan_.mtp;
    return static_cast<double>(each) * module_head(n) + (again > 0 ? static_cast<double>(again) * module(n) : 0);
  }

 private:
  static bool any(const LayerPrice&) { return true; }
  static bool is_body(const LayerPrice& row) { return row.segment != SegmentKind::head; }
  static bool is_model(const LayerPrice& row) { return !row.mtp; }
  static bool is_model_body(const LayerPrice& row) { return is_model(row) && is_body(row); }
  static bool is_beside_layers(const LayerPrice& row) { return row.mtp || row.segment != SegmentKind::block; }
  static bool is_body_beside_layers(const LayerPrice& row) { return is_body(row) && is_beside_layers(row); }

  bool is_recorded(Count n) const { return n <= sizes_.recorded_rows; }
  /// Prices of a pass of n rows: a decode step without cores if the pass is recorded, otherwise a prompt.
  Prices of_rows(Count n) const {
    if (is_recorded(n)) return decode_prices(n, plan_.mtp);
    return price_prefill(arch_, with_batch(plan_, 1), layout_, cluster_.device, n);
  }
  /// Seconds of an MTP module without its head.
  double module(Count n) const {
    const Prices p = decode_prices(n, 1);
    return time(p, is_body) - time(p, is_model_body);
  }
  double module_head(Count n) const {
    const Prices p = decode_prices(n, 1);
    return time(p, any) - time(p, is_model) - module(n);
  }
  Prices decode_prices(Count n, Count modules) const {
    Cores cores;
    const Plan plan = with_batch(plan_, n);
    const Step step = with_modules(decode_step(plan, 1), modules);
    return price_without_cores(arch_, plan, layout_, cluster_.device, step, cores);
  }
  /// Seconds of all work outside the model's layers except heads: the embedding, MTP modules, the engine's overhead per
  /// pass. In a prompt pass, each head runs over one row.
  double beside(const Prices& p, Count n) const {
    if (is_recorded(n)) return time(p, is_body_beside_layers);
    const double modules = plan_.mtp > 0 ? static_cast<double>(plan_.mtp) * module_head(1) : 0;
    return time(p, is_beside_layers) - head_alone(1) - modules;
  }
  /// Seconds of the model's layers in a pass of n rows, without cores.
  double layers(const Prices& p, Count n) const {
    const double all = time(p, is_body) - time(p, is_body_beside_layers);
    return is_recorded(n) ? all - static_cast<double>(n) * state_ : all - attention(p) - state_;
  }
  Plan plan_of(Count n) const { return with_batch(plan_, is_recorded(n) ? n : 1); }
  Step step_of(Count n) const { return is_recorded(n) ? decode_step(plan_of(n), 1) : prefill_step(plan_of(n), n); }
  Phase phase_of(Count n) const { return is_recorded(n) ? Phase::decode : Phase::prefill; }
  double expert_part(Count n) const {
    return expert_seconds(arch_, plan_of(n), layout_, cluster_.device, step_of(n), phase_of(n));
  }
  double adapters(Count n) const {
    return adapter_seconds(arch_, plan_of(n), layout_, cluster_.device, step_of(n), phase_of(n), sizes_.adapters).value;
  }
  double head_alone(Count n) const {
    const Prices p = decode_prices(n, 0);
    return time(p, any) - time(p, is_body);
  }
  /// Seconds to send hidden states and the residual stream from stage to stage.
  double sends(const Prices& p) const {
    if (pace_.stages == 1) return 0;
    const Efficiency e = p.estimated ? Efficiency::estimated : Efficiency::full;
    return 2 * static_cast<double>(pace_.stages - 1) * send_seconds(p, layout_, cluster_, e).value;
  }
  /// Seconds of a pass with only the price rows that `counts` accepts.
  double time(const Prices& prices, bool (*counts)(const LayerPrice&)) const {
    PassSum sum;
    for (const LayerPrice& row : prices.rows)
      if (counts(row)) sum.add(row.forward, row.layers, true);
    return pass_time(sum, prices, plan_, layout_, cluster_).estimate.total().value;
  }
  /// Seconds of the attention cores, including launch overhead.
  double attention(const Prices& prices) const {
    double all = 0;
    for (const LayerPrice& row : prices.rows) {
      const WorkTime& work = prices.estimated ? row.forward.estimate_work : row.forward.bound_work;
      all += static_cast<double>(row.layers) * work.attention.value;
    }
    return all + launches(prices);
  }
  double launches(const Prices& prices) const {
    if (!prices.estimated || prices.uniform) return 0;
    return static_cast<double>(cores_) * prices.estimated_rates.launch.value;
  }

  const Arch& arch_;
  const Plan& plan_;
  const Layout& layout_;
  const Cluster& cluster_;
  const PassSizes& sizes_;
  StagePace pace_;
  Count cores_;
  double state_;
};

/// Row counts at which passes are priced: all counts up to 8, then steps of a quarter of the last power of two, both
/// sides of the CUDA graph limit, and the maximum.
std::vector<Count> knot_rows(const PassSizes& sizes) {
  std::vector<Count> all;
  for (Count power = 1; power < sizes.most_rows; power *= 2)
    for (Count i = 0; i < 4; ++i) all.push_back(power + i * power / 4);
  for (const Count n : {sizes.recorded_rows, sizes.recorded_rows + 1, sizes.most_rows}) all.push_back(n);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.erase(all.begin(), std::lower_bound(all.begin(), all.end(), 1));
  all.erase(std::upper_bound(all.begin(), all.end(), std::max(sizes.most_rows, sizes.recorded_rows + 1)), all.end());
  return all;
}

template <typename Price>
PassRowTimes priced_rows(const std::vector<Count>& knots, const Price& price) {
  PassRowTimes::Knots all;
  for (const Count n : knots) all.emplace_back(n, ticks(Seconds(price(n))));
  return PassRowTimes(all);
}

}  // namespace

PassTimes pass_times(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const PassSizes& sizes) {
  const Plan one = with_batch(plan, 1);
  Cluster without_sequences = cluster;
  without_sequences.device.achieved.software.sequence = {};  // counted by PassTimes::sequence
  const RowPricer pricer(arch, plan, layout, without_sequences, sizes);
  const std::vector<Count> knots = knot_rows(sizes);
  PassTimes t;
  t.rows = priced_rows(knots, [&](Count n) { return pricer.rows(n); });
  if (ranks(layout, Group::expert) > 1) t.experts = priced_rows(knots, [&](Count n) { return pricer.experts(n); });
  t.head = priced_rows(knots, [&](Count n) { return pricer.head(n); });
  t.prompts = core_times(arch, one, layout, cluster.device, Phase::prefill);
  t.decodes = core_times(arch, one, layout, cluster.device, Phase::decode, sizes.drafts);
  if (sizes.drafts > 0) t.drafts = priced_rows(knots, [&](Count n) { return pricer.drafts(n, sizes.drafts); });
  t.sequence = ticks(Seconds(pricer.state()));
  if (has_estimate(cluster.device, plan))
    t.sequence += ticks(paced_rates(cluster.device, plan, Phase::decode).software.sequence);
  t.reach = first_limited_reach(arch, one);
  return t;
}

}  // namespace llmcalc
