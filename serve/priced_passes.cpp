// Times of passes from the prices of calc/.

#include <algorithm>

#include "serve/pass_times.hpp"

namespace llmcalc {
namespace {

/// Prices attention's cores of one phase as lines over their work.
class CoreLines {
 public:
  CoreLines(const Plan& plan, const Layout& layout, const Device& device, Phase phase)
      : pricing_(pricing(plan, phase, layout)),
        estimated_(has_estimate(device, plan)),
        rates_(estimated_ ? estimated_rates(device, plan) : bound_rates(device, plan)),
        queries_(phase == Phase::decode ? 1 : 1024) {}

  /// Adds the cores of `layers` layers, launched one after another: max(c, m) + exposed min(c, m) and the launch, where
  /// c = seconds per pair, and m = seconds per query and key. Both come from two shapes, a chunk after many keys and
  /// after twice as many, since cost is linear in them.
  void add(CoreTimes& lines, const Op& op, Count layers) const {
    constexpr Count past = 4096;
    const Parts near = parts(op, past + queries_), far = parts(op, 2 * past + queries_);
    const double n = static_cast<double>(layers), q = static_cast<double>(queries_);
    const double pair = n * near.compute / static_cast<double>(chunk_work(past, queries_, {}).pairs);
    const double key = n * (far.memory - near.memory) / static_cast<double>(past);
    const double query = (n * near.memory - key * static_cast<double>(past + queries_)) / q;
    const auto line = [&](double compute, double memory) {
      return CoreRate{ticks(Seconds(n * near.launch)), ticks(Seconds(memory * query)), ticks(Seconds(memory * key)),
                      ticks(Seconds(compute * pair))};
    };
    const CoreTimes old = lines;
    lines = {};
    for (const CoreRate& r : {line(1, near.exposed), line(near.exposed, 1)}) push(lines, r, old);
  }

 private:
  struct Parts {
    double compute, memory, launch, exposed;
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
    return {static_cast<double>(c.executed.value) / r.compute.value, c.moved.total() / r.memory.value, r.launch.value,
            r.exposed};
  }
  /// Layers of one reach differ in nothing else that a core depends on, so that lines of a kind add up one by one.
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

/// The tokens that a core reads where that is not all: in a window or chunk, or as many as are chosen, priced like a
/// window. Not limited: all. Blocks that are chosen count as if the query's own were full. Of pooled keys those count
/// that are chosen; what every query sees of them, one per group of tokens, is left out.
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

/// `drafts`: of modules, in a decoding sequence.
std::array<CoreTimes, reach_kinds> core_times(const Arch& arch, const Plan& plan, const Layout& layout,
                                              const Device& device, Phase phase, Count drafts = 0) {
  std::array<CoreTimes, reach_kinds> all;
  const CoreLines cores(plan, layout, device, phase);
  Step step = prefill_step(plan, 1);
  if (phase == Phase::decode) step = with_modules(decode_step(plan, 1), drafts);
  for_each_operator(arch, plan, layout, step, [&](const OperatorRow& row) {
    if (reads_past(row.op.shape))
      cores.add(all[limited_reach(row.op.shape).limited() ? 1 : 0], row.op, row.segment.repeats);
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

/// Cores of a prompt's pass.
Count core_count(const Arch& arch, const Plan& plan) {
  Count n = 0;
  for_each_operator(arch, plan, {}, prefill_step(plan, 1), [&](const OperatorRow& row) {
    if (reads_past(row.op.shape)) n += row.segment.repeats;
  });
  return n;
}

/// Seconds that the state of linear attention takes for each sequence of a pass: it is read and written.
double state_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device) {
  double all = 0;
  const Pricing p = pricing(plan, Phase::decode, layout);
  const Rates r = has_estimate(device, plan) ? estimated_rates(device, plan) : bound_rates(device, plan);
  for_each_operator(arch, plan, layout, decode_step(plan, 1), [&](const OperatorRow& row) {
    if (std::holds_alternative<LinearAttention>(row.op.shape))
      all += static_cast<double>(row.segment.repeats) * forward(row.op, p).moved.cache / r.memory.value;
  });
  return all;
}

/// Seconds of parts of a pass of T rows.
class RowPricer {
 public:
  RowPricer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count recorded)
      : arch_(arch),
        plan_(plan),
        layout_(layout),
        cluster_(cluster),
        recorded_(recorded),
        cores_(core_count(arch, plan)),
        state_(with_batch(plan, 1).kv_cache ? state_seconds(arch, with_batch(plan, 1), layout, cluster.device) : 0) {}

  double state() const { return state_; }
  /// All but cores and heads, and the state of linear attention, which is counted by sequence.
  double rows(Count n) const { return n <= recorded_ ? recorded_rows(n) : long_rows(n); }
  /// The model's head, and no pass around it.
  double head(Count n) const {
    const Prices p = decode_prices(n, 0);
    return time(p, any) - time(p, is_body);
  }
  /// `each` drafts of n sequences by the modules, whose first runs are in the rows of the pass already.
  double drafts(Count n, Count each) const {
    const Count again = each - plan_.mtp;
    return static_cast<double>(each) * module_head(n) + (again > 0 ? static_cast<double>(again) * module(n) : 0);
  }

 private:
  static bool any(const LayerPrice&) { return true; }
  static bool is_body(const LayerPrice& row) { return row.segment != SegmentKind::head; }
  static bool is_model(const LayerPrice& row) { return !row.mtp; }
  static bool is_model_body(const LayerPrice& row) { return is_model(row) && is_body(row); }

  double recorded_rows(Count n) const {
    return time(decode_prices(n, plan_.mtp), is_body) - static_cast<double>(n) * state_;
  }
  /// A module without its head, and its head.
  double module(Count n) const {
    const Prices p = decode_prices(n, 1);
    return time(p, is_body) - time(p, is_model_body);
  }
  double module_head(Count n) const {
    const Prices p = decode_prices(n, 1);
    return time(p, any) - time(p, is_model) - module(n);
  }
  /// A prompt's pass has heads of one row.
  double long_rows(Count n) const {
    const Prices p = price_prefill(arch_, with_batch(plan_, 1), layout_, cluster_.device, n);
    const double modules = plan_.mtp > 0 ? static_cast<double>(plan_.mtp) * module_head(1) : 0;
    return time(p, any) - attention(p) - state_ - head(1) - modules;
  }
  Prices decode_prices(Count n, Count modules) const {
    Cores cores;
    const Plan plan = with_batch(plan_, n);
    const Step step = with_modules(decode_step(plan, 1), modules);
    return price_without_cores(arch_, plan, layout_, cluster_.device, step, cores);
  }
  /// Of the rows that `counts` accepts, and the pass around them.
  double time(const Prices& prices, bool (*counts)(const LayerPrice&)) const {
    PassSum sum;
    for (const LayerPrice& row : prices.rows)
      if (counts(row)) sum.add(row.forward, row.layers, true);
    return pass_time(sum, prices, plan_, layout_, cluster_).estimate.total().value;
  }
  /// Of the cores, launches included.
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
  Count recorded_;
  Count cores_;
  double state_;
};

/// Numbers of rows at which passes are priced: all up to 8, then steps of a half of the last power of two to an eighth
/// of it, both ends of what is recorded, and the most.
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
  return PassRowTimes(std::move(all));
}

}  // namespace

PassTimes pass_times(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const PassSizes& sizes) {
  const Plan one = with_batch(plan, 1);
  const RowPricer pricer(arch, plan, layout, cluster, sizes.recorded_rows);
  const std::vector<Count> knots = knot_rows(sizes);
  PassTimes t;
  t.rows = priced_rows(knots, [&](Count n) { return pricer.rows(n); });
  t.head = priced_rows(knots, [&](Count n) { return pricer.head(n); });
  t.prompts = core_times(arch, one, layout, cluster.device, Phase::prefill);
  t.decodes = core_times(arch, one, layout, cluster.device, Phase::decode, sizes.drafts);
  if (sizes.drafts > 0) t.drafts = priced_rows(knots, [&](Count n) { return pricer.drafts(n, sizes.drafts); });
  t.sequence = ticks(Seconds(pricer.state()));
  t.reach = first_limited_reach(arch, one);
  return t;
}

}  // namespace llmcalc
