#include "report/model/operators_grid.hpp"

#include <fmt/format.h>

#include "ask/request/request.hpp"
#include "calc/step/assemble.hpp"
#include "report/explain/operator_formula.hpp"
#include "report/model/shape_text.hpp"
#include "report/render/render.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr std::array<const char*, 3> phase_names{"training micro-batch", "prefill", "decode step"};
constexpr std::array<const char*, 3> phase_keys{"ops", "prefill_ops", "decode_ops"};

std::string segment_name(const Segment& s) {
  const std::string part = s.mtp ? "module " : "";
  if (s.kind != SegmentKind::block) return part + (s.kind == SegmentKind::embedding ? "embedding" : "head");
  std::string n = "block";
  if (s.layer.experts) n = "expert " + n;
  if (s.layer.reach.limited()) n = (s.layer.reach.chunked ? "chunked " : "window ") + n;
  if (s.layer.linear) n = "linear " + n;
  if (s.layer.mixer > 0) n = fmt::format("mixer {} {}", s.layer.mixer + 1, n);
  if (!s.layer.has_mlp()) n += " without MLP";
  if (s.layer.wide) n = "wide " + n;
  return part + n;
}

Step step_of(const Request& r, Phase phase) {
  if (phase == Phase::training) return training_step(r.plan);
  if (phase == Phase::prefill) return prefill_step(r.plan, r.plan.prompt);
  return decode_step(r.plan, r.plan.prompt + r.plan.generate / 2);
}

/// Costs of one operator, for one layer on one GPU.
struct OperatorLine {
  const Op& op;
  Count parameters;
  Cost forward, backward, recomputed;  ///< `recomputed`: cost of the forward pass that the backward pass repeats
  Bytes saved;
  Time time;  ///< time of the forward pass; in training also of the backward pass and recomputation
};

/// Builds the table line by line.
class OperatorTable {
 public:
  OperatorTable(const Request& r, Phase phase) : r_(r), phase_(phase), price_(pricing(r.plan, phase, r.layout)) {
    const auto which = static_cast<std::size_t>(phase);
    grid_.key = phase_keys[which];
    grid_.title = fmt::format("operators of one {}, one layer each, one GPU", phase_names[which]);
    if (training())
      grid_.columns = {"operator", "shape", "forward", "backward", "saved"};
    else
      grid_.columns = {"operator", "shape", "params", "forward", "moved"};
    if (r.hardware) grid_.columns.insert(grid_.columns.end(), {"time", "bound"});
    grid_.left = 2;
  }

  void add(const OperatorRow& row) {
    if (row.index == 0) begin(row.segment);
    const OperatorLine l = line(row.op, saved_[row.index], row.recomputed);
    grid_.rows.push_back(text(l));
    grid_.json.push_back(numbers(l, row.segment));
  }
  /// Adds the time that a pass spends outside its operators.
  void end() {
    if (training() || !r_.hardware) return;
    const Seconds loop = paced_rates(r_.hardware->cluster.device, r_.plan, phase_).software.pass(r_.plan.batch);
    if (loop <= Seconds()) return;
    grid_.rows.push_back({"engine loop (x 1)", "", "-", "-", "-", human_text(loop.value, Unit::seconds), "latency"});
    grid_.json.push_back({{"segment", "engine"},
                          {"layers", 1},
                          {"name", "loop"},
                          {"shape", ""},
                          {"formula", "0"},
                          {"parameters", 0},
                          {"forward_flops", 0},
                          {"forward_model_flops", 0},
                          {"forward_moved_bytes", 0.0},
                          {"time_s", loop.value},
                          {"bound", "latency"}});
  }

  Grid grid() const { return grid_; }

 private:
  bool training() const { return phase_ == Phase::training; }

  void begin(const Segment& s) {
    grid_.rows.push_back({fmt::format("{} (x {}{})", segment_name(s), s.repeats, which_layers(s))});
    grid_.rows.back().resize(grid_.columns.size());
    saved_ = training() ? saved(s) : SavedByOperator{};
  }

  /// Which layers the following lines describe, if layers differ in the tensors that they save.
  std::string which_layers(const Segment& s) const {
    if (s.kind != SegmentKind::block || !training()) return "";
    if (recomputes_block(r_.plan)) return "; only recomputed layers shown";
    return recomputes_groups(r_.plan) ? fmt::format("; only the first of each {} shown", r_.plan.recompute_layers) : "";
  }

  /// Bytes saved by each operator; for a block recomputed as a whole, the block's input.
  SavedByOperator saved(const Segment& s) const {
    if (r_.plan.recompute != Recompute::full || s.kind != SegmentKind::block)
      return saved_by_operator(s.ops, price_, s.input_elements);
    SavedByOperator input{};
    input[0] = liveness(s.ops, price_, s.input_elements).input;
    return input;
  }

  OperatorLine line(const Op& op, Bytes saved, bool is_recomputed) const {
    OperatorLine l{op, learned(op).total, forward(op, price_), {}, {}, saved, {}};
    if (training()) l.backward = backward(op, price_);
    if (is_recomputed) l.recomputed = l.forward;
    if (r_.hardware) l.time = time(op, is_recomputed);
    return l;
  }

  /// Time of one operator or collective at the rates of the estimate.
  Time time(const Op& op, bool is_recomputed) const {
    const Cluster& c = r_.hardware->cluster;
    const Rates rates = paced_rates(c.device, r_.plan, phase_);
    if (const Collective* sent = std::get_if<Collective>(&op.shape)) {
      CollectiveCalls all;
      for (int passes = is_recomputed ? 2 : 1; passes > 0; --passes) add_forward(all, *sent, price_);
      if (training()) add_backward(all, *sent, price_);
      return {.communication = exposed(all, rates, c)};
    }
    Time t = (is_recomputed ? 2.0 : 1.0) * operator_time(op, price_, Direction::forward, rates);
    if (training()) t += backward_time(op, price_, rates);
    return t;
  }

  /// Exposed seconds of collectives, assuming that weight gradients take as long as the collectives they overlap with.
  Seconds exposed(const CollectiveCalls& all, const Rates& rates, const Cluster& c) const {
    Seconds sum;
    for (const CollectiveCall& e : all) {
      const double beside = static_cast<double>(e.beside) / static_cast<double>(e.messages);
      const double more = std::max(0.0, rates.hidden_by_weights - rates.hidden_tensor);
      const double hidden = rates.hidden(e.group) + (e.group == Group::tensor ? beside * more : 0);
      sum += (1 - hidden) * communication_time(e, r_.layout, c, rates.links).total();
    }
    return sum;
  }

  std::vector<std::string> text(const OperatorLine& l) const {
    std::vector<std::string> row{"  " + std::string(l.op.name), shape_text(l.op.shape)};
    if (training()) {
      row.insert(row.end(), {flops(l.forward), flops(l.backward), bytes(static_cast<double>(l.saved.value))});
    } else {
      row.insert(row.end(), {count(l.parameters), flops(l.forward), bytes(l.forward.moved.total())});
    }
    if (!r_.hardware) return row;
    const bool none = l.time.total().value == 0;
    const Bound b = bound(l.time);
    row.push_back(none ? "-" : human_text(l.time.total().value, Unit::seconds));
    row.emplace_back(none ? "-" : b == Bound::communication ? "comm." : bound_names[static_cast<std::size_t>(b)]);
    return row;
  }
  static std::string count(Count n) { return n == 0 ? "-" : short_text(n, Unit::parameters); }
  static std::string flops(const Cost& c) { return c.executed.value == 0 ? "-" : human_text(c.executed, Unit::flops); }
  static std::string bytes(double b) { return b == 0 ? "-" : human_text(b, Unit::bytes); }

  json::Value numbers(const OperatorLine& l, const Segment& s) const {
    json::Value v{{"segment", segment_name(s)},
                  {"layers", s.repeats},
                  {"name", std::string(l.op.name)},
                  {"shape", shape_text(l.op.shape)},
                  {"formula", operator_formula_text(l.op, price_)},
                  {"parameters", l.parameters},
                  {"forward_flops", value_json(l.forward.executed)},
                  {"forward_model_flops", value_json(l.forward.model)},
                  {"forward_moved_bytes", l.forward.moved.total()}};
    if (training()) {
      v["backward_flops"] = value_json(l.backward.executed);
      v["backward_moved_bytes"] = l.backward.moved.total();
      v["recomputed_flops"] = value_json(l.recomputed.executed);
      v["kept_bytes"] = l.saved.value;
    }
    if (!r_.hardware) return v;
    v["time_s"] = l.time.total().value;
    if (l.time.total().value > 0) v["bound"] = bound_names[static_cast<std::size_t>(bound(l.time))];
    return v;
  }

  const Request& r_;
  Phase phase_;
  Pricing price_;
  Grid grid_;
  SavedByOperator saved_{};  ///< bytes saved in the current segment
};

}  // namespace

Grid operators_grid(const Request& r, Phase phase) {
  OperatorTable table(r, phase);
  for_each_operator(r.model.arch, r.plan, r.layout, step_of(r, phase), [&](const OperatorRow& row) { table.add(row); });
  table.end();
  return table.grid();
}

}  // namespace llmcalc
