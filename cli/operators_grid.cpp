#include <fmt/format.h>

#include "calc/liveness.hpp"
#include "calc/program.hpp"
#include "cli/sections.hpp"

namespace llmcalc {
namespace {

/// "AR" of all-reduce, and so on.
std::string_view short_name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return "AR";
    case CollectiveOp::all_gather:
      return "AG";
    case CollectiveOp::reduce_scatter:
      return "RS";
    default:
      return name(op);
  }
}
std::string_view short_name(Bound b) {
  return b == Bound::communication ? "comm." : bound_names[static_cast<std::size_t>(b)];
}

std::string dims(std::initializer_list<Count> all) {
  std::string s;
  for (const Count n : all) s += (s.empty() ? "" : "x") + fmt::format("{}", n);
  return s;
}

std::string shape_text(const Lookup& s) { return dims({s.tokens, s.width}); }
std::string shape_text(const Linear& s) {
  return dims({s.rows, s.in, s.out}) + (s.groups > 1 ? fmt::format(" /{}", s.groups) : "");
}
std::string shape_text(const Norm& s) { return dims({s.rows, s.width}); }
std::string shape_text(const Attention& s) {
  return fmt::format("{}/{}h {}/{}{}", s.heads, s.kv_heads, s.queries, s.past + s.queries,
                     s.window > 0 ? fmt::format(" w{}", s.window) : "");
}
std::string shape_text(const LinearAttention& s) { return fmt::format("{}h {}", s.heads, s.queries); }
std::string shape_text(const Pointwise& s) { return dims({s.rows, s.width}); }
std::string shape_text(const Loss& s) { return dims({s.rows, s.vocabulary}); }
std::string shape_text(const Collective& s) {
  std::string t;
  if (s.forward_on) t += std::string(short_name(s.forward));
  if (s.backward_on) t += (t.empty() ? "" : ", ") + std::string(short_name(s.backward)) + " back";
  return t;
}

std::string segment_name(const Segment& s) {
  if (s.kind != SegmentKind::block) return s.kind == SegmentKind::embedding ? "embedding" : "head";
  std::string n = "block";
  if (s.layer.experts) n = "expert " + n;
  if (s.layer.windowed) n = "window " + n;
  if (s.layer.linear) n = "linear " + n;
  return n;
}

Step step_of(const Request& r, Phase phase) {
  if (phase == Phase::training) return training_step(r.plan);
  if (phase == Phase::prefill) return prefill_step(r.plan, r.plan.prompt);
  return decode_step(r.plan, r.plan.prompt + r.plan.generate / 2);
}

constexpr const char* phase_names[] = {"training micro-batch", "prefill", "decode step"};
constexpr const char* phase_keys[] = {"ops", "prefill_ops", "decode_ops"};

/// One operator's numbers, of one layer.
struct Line {
  std::string shape;
  Count parameters = 0;
  Cost forward, backward;
  Bytes kept;
};

Line line(const Op& op, const Pricing& p) {
  Line l{std::visit([](const auto& s) { return shape_text(s); }, op.shape),
         learned(op.shape).total,
         forward(op, p),
         {},
         {}};
  if (p.training()) l.backward = backward(op, p), l.kept = kept(op.shape, p);
  return l;
}

/// "22.02 M": the unit is the column's.
std::string short_count(Count n) {
  if (n == 0) return "-";
  const std::string s = human_text(n, Unit::parameters);
  return s.substr(0, s.rfind(' '));
}
std::string short_flops(Flops f) { return f.value == 0 ? "-" : human_text(f, Unit::flops); }
std::string short_bytes(double b) { return b == 0 ? "-" : human_text(b, Unit::bytes); }

json::Value wide(Flops f) {
  if (f.value <= ~std::uint64_t{0}) return static_cast<std::uint64_t>(f.value);
  return static_cast<double>(f.value);
}

}  // namespace

Grid operators_grid(const Request& r, Phase phase) {
  const auto which = static_cast<std::size_t>(phase);
  const bool training = phase == Phase::training;
  Grid g{.key = phase_keys[which],
         .title = fmt::format("operators of one {}, one layer each, one GPU", phase_names[which]),
         .columns = {"operator", "shape", "params", "forward"},
         .left = 2,
         .rows = {}};
  g.columns.emplace_back(training ? "backward" : "moved");
  if (r.hardware) g.columns.insert(g.columns.end(), {"time", "bound"});
  const Pricing p = pricing(r.plan, phase);
  for_each_segment(r.model.arch, step_of(r, phase), tensor_parallel(r.plan), [&](const Segment& s) {
    g.rows.push_back({fmt::format("{} (x {})", segment_name(s), s.repeats)});
    g.rows.back().resize(g.columns.size());
    for (const Op& op : s.ops) {
      const Line l = line(op, p);
      std::vector<std::string> row{"  " + std::string(op.name), l.shape, short_count(l.parameters),
                                   short_flops(l.forward.executed)};
      row.push_back(training ? short_flops(l.backward.executed) : short_bytes(l.forward.moved.total()));
      json::Value v{{"segment", segment_name(s)},
                    {"layers", s.repeats},
                    {"name", std::string(op.name)},
                    {"shape", l.shape},
                    {"parameters", l.parameters},
                    {"forward_flops", wide(l.forward.executed)},
                    {"forward_model_flops", wide(l.forward.model)},
                    {"forward_moved_bytes", l.forward.moved.total()}};
      if (training) {
        v["backward_flops"] = wide(l.backward.executed), v["backward_moved_bytes"] = l.backward.moved.total();
        v["kept_bytes"] = l.kept.value;
      }
      if (r.hardware) {
        Plan by_op = r.plan;
        by_op.roofline = Roofline::op;
        Clock clock(estimated_rates(r.hardware->device, r.plan), by_op, p);
        clock.run(op, 1, false);
        if (training) clock.run(op, 1, true);
        const Time t = clock.time();
        const std::string b(bound_names[static_cast<std::size_t>(bound(t))]);
        const bool none = t.total().value == 0;
        row.insert(row.end(), {none ? "-" : human_text(t.total().value, Unit::seconds),
                               none ? "-" : std::string(short_name(bound(t)))});
        v["time_s"] = t.total().value;
        if (!none) v["bound"] = b;
      }
      g.rows.push_back(std::move(row));
      g.json.push_back(std::move(v));
    }
  });
  return g;
}

}  // namespace llmcalc
