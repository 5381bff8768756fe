#include "report/explain/pass_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/links/route.hpp"
#include "calc/roofline.hpp"
#include "calc/train.hpp"
#include "calc/training/gradient_flow.hpp"
#include "report/explain/merged_terms.hpp"
#include "report/explain/sum.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

/// One operator in one direction, run `times` times.
struct OperatorRun {
  Op op;
  Count times;
  Direction direction;
};

bool is_collective(const OperatorRun& r) { return std::holds_alternative<Collective>(r.op.shape); }

/// Number of layers in a segment whose forward pass is recomputed.
Count recomputed_layers(const Setting& s, const OperatorRow& row) {
  if (!row.recomputed) return 0;
  const Plan& p = s.plan();
  if (!recomputes_block(p)) return row.segment.repeats;
  const Partition& chunks = s.train().partition;
  Count n = 0;
  for (Count q = 0; q < chunks.size(); ++q)
    n += layers_in(row.segment.layer, first_layers(chunks[q], p.recompute_layers));
  return n;
}

std::vector<OperatorRun> runs(const Setting& s, const TimedPass& pass) {
  std::vector<OperatorRun> all;
  for_each_operator(s.arch(), s.plan(), s.layout(), pass.step, [&](const OperatorRow& row) {
    const Count layers = row.segment.repeats;
    all.push_back({row.op, layers + recomputed_layers(s, row), Direction::forward});
    if (pass.phase != Phase::training) return;
    const bool collective_call = is_collective(all.back());
    if (collective_call || has_input_gradient(row.op)) all.push_back({row.op, layers, Direction::backward_input});
    if (!collective_call && has_backward(row.op)) all.push_back({row.op, layers, Direction::backward_weight});
  });
  return all;
}

const char* direction(const OperatorRun& r) {
  constexpr const char* names[] = {"forward", "backward", "weight gradient"};
  return names[static_cast<int>(r.direction)];
}

/// Bytes that an operator moves. Under the step roofline, activations stay on chip.
double moved(const Setting& s, const Cost& c) {
  return s.plan().roofline == Roofline::op ? c.moved.total() : c.moved.weights + c.moved.cache;
}

bool is_compute_limited(const Cost& c, const OpRates& r) {
  return c.executed / r.compute >= Seconds(c.moved.total() / r.memory.value);
}
bool is_limited(const Setting& s, const Op& op, const Cost& c, Limited which) {
  if (which == Limited::either) return true;
  return is_compute_limited(c, op_rates(op, estimated_rates(s.device(), s.plan()))) == (which == Limited::compute);
}

Rates rates_of(const Setting& s, bool bound, Phase phase = Phase::training) {
  return bound ? bound_rates(s.device(), s.plan()) : paced_rates(s.device(), s.plan(), phase);
}
/// Whether the blocks' matmuls use a different format, with a different peak, from all other matmuls.
bool is_mixed(const Setting& s) { return rates_of(s, true).mixed(); }

bool is_nothing(const Cost& c) { return c.executed == Flops() && c.moved.total() == 0; }

/// A term per operator with values(run, cost); no term if the values are empty.
template <typename Values>
Terms operators(const Setting& s, const TimedPass& pass, std::vector<Symbol> symbols, const Values& values) {
  MergedTerms t(std::move(symbols));
  if (!s.parts().terms) return t.terms();
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  for (const OperatorRun& r : runs(s, pass)) {
    if (is_collective(r)) continue;
    const Cost c = cost(r.op, p, r.direction);
    const std::vector<std::string> of_term = values(r, c);
    if (!of_term.empty()) t.add(std::string(r.op.name), direction(r), r.times, of_term);
  }
  return t.terms();
}

Terms operators(const Setting& s, const TimedPass& pass, Limited which, bool all_bytes = false) {
  std::vector<Symbol> symbols{{"n_i", "runs of an operator, identical operators merged", ""},
                              {"F_i", "executed FLOPs per run", ""},
                              {"M_i", "bytes moved per run", ""}};
  return operators(s, pass, std::move(symbols), [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
    if (is_nothing(c) || !is_limited(s, r.op, c, which)) return {};
    return {digits(c.executed.value), number_text(all_bytes ? c.moved.total() : moved(s, c))};
  });
}
/// Whether rates differ between operators: on a measured device, or if number formats differ.
bool has_own_rates(const Setting& s, bool bound) {
  if (s.plan().roofline != Roofline::op) return false;
  return !rates_of(s, bound || !s.estimated()).uniform();
}

/// Terms of all operators with their achieved rates, and the weight of their compute or memory time in the sum.
Terms measured_operators(const Setting& s, const TimedPass& pass, Limited shown, bool bound) {
  std::vector<Symbol> symbols{{"n_i", "runs of an operator, identical operators merged", ""},
                              {"F_i", "executed FLOPs per run", ""},
                              {"M_i", "bytes moved per run", ""},
                              {"c_i", "achieved FLOP/s", ""},
                              {"b_i", "achieved bytes/s", ""},
                              {"t_i", "launch overhead, s", ""}};
  if (shown == Limited::either)
    symbols.push_back({"x_i", "non-overlapped fraction of the shorter of its compute and memory times", ""});
  else
    symbols.push_back(
        {"w_i", "1 for the longer of its compute and memory times, non-overlapped fraction for the shorter", ""});
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  const Rates rates = rates_of(s, bound, pass.phase);
  return operators(s, pass, std::move(symbols), [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
    const OpRates own = bound ? op_rates(r.op, rates) : reached(r.op, c, p, r.direction, rates);
    if (is_nothing(c) && own.launch.value == 0) return {};
    const bool longer = is_compute_limited(c, own) == (shown == Limited::compute);
    return {digits(c.executed.value),       number_text(c.moved.total()),
            number_text(own.compute.value), number_text(own.memory.value),
            number_text(own.launch.value),  number_text(shown != Limited::either && longer ? 1 : own.exposed)};
  });
}

/// Terms of the step's roofline with several formats: each operator's FLOPs at the peak of its format.
Terms operators_at_peaks(const Setting& s, const TimedPass& pass, bool bound) {
  return operators(s, pass,
                   {{"n_i", "runs of an operator, identical operators merged", ""},
                    {"F_i", "executed FLOPs per run", ""},
                    {"c_i", "FLOP/s in its number format", ""},
                    {"M_i", "bytes of weights and cache moved per run", ""}},
                   [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
                     if (is_nothing(c)) return {};
                     return {digits(c.executed.value),
                             number_text(format_rate(r.op, rates_of(s, bound, pass.phase)).value),
                             number_text(moved(s, c))};
                   });
}

Part work_part(const Op& op) {
  if (reads_past(op.shape)) return Part::attention;
  const bool product = std::holds_alternative<Linear>(op.shape) || std::holds_alternative<LinearAttention>(op.shape);
  return product ? Part::matmul : Part::elementwise;
}

/// Terms of the operators of one kind of work, without rates. measured_work() adds the achieved rates, and
/// work_at_peaks() the peak of each operator's format.
Terms work_terms(const Setting& s, const TimedPass& pass, Part part) {
  return operators(s, pass,
                   {{"n_i", "runs of an operator, identical operators merged", ""},
                    {"F_i", "executed FLOPs per run", ""},
                    {"M_i", "bytes moved per run", ""}},
                   [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
                     if (is_nothing(c) || work_part(r.op) != part) return {};
                     return {digits(c.executed.value), number_text(c.moved.total())};
                   });
}
Terms measured_work(const Setting& s, const TimedPass& pass, Part part) {
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  const Rates rates = paced_rates(s.device(), s.plan(), pass.phase);
  return operators(s, pass,
                   {{"n_i", "runs of an operator, identical operators merged", ""},
                    {"F_i", "executed FLOPs per run", ""},
                    {"M_i", "bytes moved per run", ""},
                    {"c_i", "achieved FLOP/s", ""},
                    {"b_i", "achieved bytes/s", ""},
                    {"x_i", "non-overlapped fraction of the shorter of its compute and memory times", ""}},
                   [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
                     if (is_nothing(c) || work_part(r.op) != part) return {};
                     const OpRates own = reached(r.op, c, p, r.direction, rates);
                     return {digits(c.executed.value), number_text(c.moved.total()), number_text(own.compute.value),
                             number_text(own.memory.value), number_text(own.exposed)};
                   });
}
Terms work_at_peaks(const Setting& s, const TimedPass& pass, Part part) {
  const Rates rates = rates_of(s, !s.estimated(), pass.phase);
  return operators(s, pass,
                   {{"n_i", "runs of an operator, identical operators merged", ""},
                    {"F_i", "executed FLOPs per run", ""},
                    {"c_i", "FLOP/s in its number format", ""}},
                   [&](const OperatorRun& r, const Cost& c) -> std::vector<std::string> {
                     if (c.executed == Flops() || work_part(r.op) != part) return {};
                     return {digits(c.executed.value), number_text(format_rate(r.op, rates).value)};
                   });
}

/// Message of a collective: its group, operation and bytes.
CollectiveCall message_of(const Collective& c, CollectiveOp op, const Pricing& p) {
  const Bytes bytes = c.number_bytes > 0 ? Bytes(mul(c.elements, c.number_bytes)) : bytes_of(p.activation, c.elements);
  return {.group = c.group, .op = op, .messages = 1, .bytes = bytes, .routing = c.routing};
}

/// Calls f(run, exchange, times) for every collective of a part, in each direction in which it runs.
template <typename F>
void for_each_collective(const Setting& s, const TimedPass& pass, Part part, const F& f) {
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  for (const OperatorRun& r : runs(s, pass)) {
    const Collective* c = std::get_if<Collective>(&r.op.shape);
    if (c == nullptr || part_of(c->group) != part) continue;
    const auto happens = [&](CollectiveOp op) { f(r, message_of(*c, op, p), r.times * c->repeats); };
    if (!is_backward(r.direction) && c->forward_on) happens(c->forward);
    if (is_backward(r.direction) && c->backward_on) happens(c->backward);
    if (is_backward(r.direction) && c->regather) happens(c->forward);
  }
}

std::string collective_name(const OperatorRun& r, const CollectiveCall& e) {
  return fmt::format("{}, {}", direction(r), name(e.op));
}

/// Ring collectives: two rounds of the ring for all-reduce, one for all other operations.
Terms ring_collectives(const Setting& s, const TimedPass& pass) {
  MergedTerms t({{"n_j", "calls of a collective", ""},
                 {"a_j", "passes around the ring: 2 for all-reduce, 1 for others", ""},
                 {"M_j", "message size, bytes", ""}});
  if (!s.parts().terms) return t.terms();
  for_each_collective(s, pass, Part::tp, [&](const OperatorRun& r, const CollectiveCall& e, Count times) {
    t.add(std::string(r.op.name), collective_name(r, e), times,
          {e.op == CollectiveOp::all_reduce ? "2" : "1", number_text(e.bytes.value)});
  });
  return t.terms();
}

/// Collectives over any link levels, each with its time.
Terms timed_collectives(const Setting& s, const TimedPass& pass, Part part, bool bound) {
  MergedTerms t({{"n_j", "calls of a collective", ""},
                 {"M_j", "message size, bytes", ""},
                 {"w_j", "sum of its serialized latencies, s", ""},
                 {"x_j", "transfer time per byte over all network levels, s", ""}});
  if (!s.parts().terms) return t.terms();
  const LinkRates links = rates_of(s, bound || !s.estimated(), pass.phase).links;
  for_each_collective(s, pass, part, [&](const OperatorRun& r, const CollectiveCall& e, Count times) {
    const CommunicationTime one = communication_time(e, s.layout(), s.cluster(), links);
    const double per_byte = e.bytes.value > 0 ? one.transfer.value / static_cast<double>(e.bytes.value) : 0;
    t.add(std::string(r.op.name), collective_name(r, e), times,
          {number_text(e.bytes.value), number_text(one.waits.value), number_text(per_byte)});
  });
  return t.terms();
}

bool has_collectives(const Setting& s, const TimedPass& pass, Part part) {
  bool any = false;
  for_each_collective(s, pass, part, [&](const OperatorRun&, const CollectiveCall&, Count) { any = true; });
  return any;
}

/// Exposed seconds of a part's collectives per micro-batch, over all layers.
double exposed_seconds(const Setting& s, Part part, bool bound) {
  const Prices prices = price(s.arch(), s.plan(), s.layout(), s.device());
  const RowTimes times = row_times(prices, s.plan(), s.layout(), s.cluster(),
                                   bound || !s.estimated() ? Efficiency::full : Efficiency::estimated);
  return times.spent_in(prices.kinds, whole_model(prices.kinds))[part].value;
}

/// Adds the exposed time of collectives that take longer than their layer's work and therefore cannot be fully
/// overlapped with it.
void add_beyond_work(const Setting& s, const TimedPass& pass, Part part, bool bound, Formula& f) {
  const double hidden = hidden_inside(s.plan());
  if (pass.phase != Phase::training || hidden == 0 || !s.parts().terms) return;
  const LinkRates links = rates_of(s, bound || !s.estimated(), pass.phase).links;
  double all = 0;
  for_each_collective(s, pass, part, [&](const OperatorRun&, const CollectiveCall& e, Count times) {
    all += static_cast<double>(times) * communication_time(e, s.layout(), s.cluster(), links).total().value;
  });
  const double more = exposed_seconds(s, part, bound) - (1 - hidden) * all;
  if (more < 1e-9 * all) return;
  const std::string name = fmt::format("t_{}_more", part_names[static_cast<std::size_t>(part)]);
  f.expression = "(" + f.expression + " + " + name + ")";
  f.own.push_back(
      {name, "collective time in excess of the work of its layer, which cannot be overlapped, s", number_text(more)});
}

Formula collectives(const Setting& s, const TimedPass& pass, Part part, bool bound) {
  const LinkRates links = rates_of(s, bound || !s.estimated(), pass.phase).links;
  const bool waits = links.start.value > 0 || links.round_inside.value > 0;
  Formula f{product({exposed(s), "sum(n_j*(w_j + x_j*M_j))"}), {}, {}};
  if (part == Part::tp && is_one_ring(s) && !waits) {
    f.expression = product({exposed(s), "sum(" + product({"n_j", ring_text(s, bound, "a_j", "M_j")}) + ")"});
    f.terms = {ring_collectives(s, pass)};
  } else {
    f.terms = {timed_collectives(s, pass, part, bound)};
  }
  add_beyond_work(s, pass, part, bound, f);
  return f;
}

bool step_is_compute_bound(const Setting& s, const TimedPass& pass) { return step_slowdown(s, pass) == 1; }

/// Seconds of all FLOPs in the step's roofline, and their terms.
std::string step_flops_time(const Setting& s, bool bound) {
  return is_mixed(s) ? "sum(n_i*F_i/c_i)" : ratio("sum(n_i*F_i)", compute_rate(s, bound));
}
Terms step_terms(const Setting& s, const TimedPass& pass, bool bound) {
  return is_mixed(s) ? operators_at_peaks(s, pass, bound) : operators(s, pass, Limited::either);
}

double host_time(const Setting& s, const TimedPass& pass) {
  double all = 0;
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  const Rates r = rates_of(s, true);
  for_each_operator(s.arch(), s.plan(), s.layout(), pass.step, [&](const OperatorRow& row) {
    all += static_cast<double>(row.segment.repeats) * host_seconds(row.op, forward(row.op, p), p, r).value;
  });
  return all;
}

}  // namespace

double step_slowdown(const Setting& s, const TimedPass& pass) {
  const Rates rates = rates_of(s, !s.estimated(), pass.phase);
  const Pricing p = pricing(s.plan(), pass.phase, s.layout());
  double compute = 0, memory = 0;
  for (const OperatorRun& r : runs(s, pass)) {
    const Cost c = r.times * cost(r.op, p, r.direction);
    compute += (c.executed / format_rate(r.op, rates)).value;
    memory += (c.moved.weights + c.moved.cache) / rates.memory.value;
  }
  return std::max(1.0, memory / compute);
}

bool is_one_ring(const Setting& s) {
  const Route r = route(s.cluster(), s.layout(), Group::tensor);
  return s.layout().collectives == Collectives::ring && !folds_experts(s.layout()) &&
         ranks(s.layout(), Group::cached) == 1 && group_link(s.cluster(), s.layout(), Group::tensor).torus.empty() &&
         std::count_if(r.begin(), r.end(), [](const Meeting& m) { return m.parts > 1; }) == 1;
}

TimedPass training_pass(const Plan& p) { return {training_step(p), Phase::training}; }
TimedPass prefill_pass(const Plan& p) { return {prefill_step(p, p.prompt), Phase::prefill}; }
TimedPass decode_pass(const Plan& p, Count context) {
  if (!p.kv_cache) return {prefill_step(p, context), Phase::prefill};
  return {decode_step(p, context), Phase::decode};
}
TimedPass drafting_pass(const Plan& p, Count context) { return {drafting_step(p, context), Phase::decode}; }

std::string compute_rate(const Setting& s, bool bound) {
  if (!bound && s.estimated()) return "e*pi";
  return s.device().achieved.fastest == 1 ? "pi" : "f_pi*pi";
}
std::string memory_rate(const Setting& s, bool bound) { return bound || !s.estimated() ? "beta" : "e_m*beta"; }

std::string exposed(const Setting& s) { return hidden_inside(s.plan()) > 0 ? "(1 - omega)" : ""; }

std::string ring_text(const Setting& s, bool bound, const std::string& passes, const std::string& bytes) {
  const bool slowed = !bound && s.estimated() && s.device().achieved.present;
  return passes + "*(T - 1)*(alpha + " + bytes + "/(T*" + (slowed ? "e_l*beta_l" : "beta_l") + "))";
}

Formula pass_time(const Setting& s, const TimedPass& pass, bool bound) {
  const bool own = has_own_rates(s, bound);
  const std::string c = own ? "c_i" : compute_rate(s, bound), b = own ? "b_i" : memory_rate(s, bound);
  Formula f;
  if (s.plan().roofline == Roofline::op) {
    const std::string both = "(" + ratio("F_i", c) + ", " + ratio("M_i", b) + ")";
    const std::string one = "max" + both + (own ? " + x_i*min" + both : "");
    f.expression = "sum(" + product({"n_i", own ? one + " + t_i" : one}) + ")";
  } else {
    f.expression = "max(" + step_flops_time(s, bound) + ", " + ratio("sum(n_i*M_i)", b) + ")";
  }
  f.terms = {own ? measured_operators(s, pass, Limited::either, bound) : step_terms(s, pass, bound)};
  if (const Seconds loop = rates_of(s, bound || !s.estimated(), pass.phase).software.pass(pass.step.sequences);
      loop.value > 0) {
    f.expression += " + t_loop";
    f.own.push_back({"t_loop", "non-overlapped engine loop overhead per pass, s", number_text(loop.value)});
  }
  if (const double host = host_time(s, pass); host > 0) {
    f.expression += " + t_host";
    f.own.push_back({"t_host", "transfer time from the host over its link, s", number_text(host)});
  }
  if (!s.tensor_parallel()) return f;
  const Formula messages = collectives(s, pass, Part::tp, bound);
  f.expression += " + " + messages.expression;
  f.terms.push_back(messages.terms[0]);
  f.own.insert(f.own.end(), messages.own.begin(), messages.own.end());
  return f;
}

Formula compute_time(const Setting& s, const TimedPass& pass, const std::string& n) {
  const bool op = s.plan().roofline == Roofline::op;
  if (has_own_rates(s, false))
    return {product({n, "sum(n_i*w_i*F_i/c_i)"}), {}, {measured_operators(s, pass, Limited::compute, false)}};
  if (!op && !step_is_compute_bound(s, pass)) return {"0"};
  if (!op) return {product({n, step_flops_time(s, false)}), {}, {step_terms(s, pass, false)}};
  return {product({n, ratio("sum(n_i*F_i)", compute_rate(s, false))}), {}, {operators(s, pass, Limited::compute)}};
}
Formula memory_time(const Setting& s, const TimedPass& pass, const std::string& n) {
  const bool op = s.plan().roofline == Roofline::op;
  if (has_own_rates(s, false))
    return {product({n, "sum(n_i*w_i*M_i/b_i)"}), {}, {measured_operators(s, pass, Limited::memory, false)}};
  if (!op && step_is_compute_bound(s, pass)) return {"0"};
  return {product({n, ratio("sum(n_i*M_i)", memory_rate(s, false))}),
          {},
          {operators(s, pass, op ? Limited::memory : Limited::either)}};
}
Formula communication_time(const Setting& s, const TimedPass& pass, Part part, const std::string& n) {
  if (!has_collectives(s, pass, part)) return {"0"};
  Formula f = collectives(s, pass, part, false);
  f.expression = product({n, f.expression});
  return f;
}
Formula work_time(const Setting& s, const TimedPass& pass, Part part, const std::string& n) {
  if (has_own_rates(s, false))
    return {product({n, "sum(n_i*(max(F_i/c_i, M_i/b_i) + x_i*min(F_i/c_i, M_i/b_i)))"}),
            {},
            {measured_work(s, pass, part)}};
  if (s.plan().roofline == Roofline::op)
    return {product({n, "sum(n_i*max(" + ratio("F_i", compute_rate(s, false)) + ", " +
                            ratio("M_i", memory_rate(s, false)) + "))"}),
            {},
            {work_terms(s, pass, part)}};
  Terms terms = work_at_peaks(s, pass, part);
  if (terms.rows.empty()) return {"0"};
  return {product({n, "kappa*sum(n_i*F_i/c_i)"}),
          {{"kappa", "step time / compute time", number_text(step_slowdown(s, pass))}},
          {std::move(terms)}};
}

Formula launch_time(const Setting& s, const TimedPass& pass, const std::string& n) {
  if (!has_own_rates(s, false)) return {"0"};
  return {product({n, "sum(n_i*t_i)"}), {}, {measured_operators(s, pass, Limited::either, false)}};
}

Formula pass_intensity(const Setting& s, const TimedPass& pass) {
  return {"sum(n_i*F_i)/sum(n_i*M_i)", {}, {operators(s, pass, Limited::either, true)}};
}

Seconds compute_seconds(const Arch& arch, const Plan& plan, const Layout& layout, const TimedPass& pass,
                        const Rates& rates) {
  Seconds all;
  const Pricing p = pricing(plan, pass.phase, layout);
  for_each_operator(arch, plan, layout, pass.step, [&](const OperatorRow& row) {
    all += static_cast<double>(row.segment.repeats) * (forward(row.op, p).executed / format_rate(row.op, rates));
  });
  return all;
}

}  // namespace llmcalc::explain
