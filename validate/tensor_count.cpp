#include "validate/tensor_count.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace llmcalc::validate {
namespace {

using model::WorkKind;

const ApartCount* found(const std::vector<ApartCount>& all, std::string_view op, const Shape& shape, bool backward) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const ApartCount& a) {
    return a.op == op && a.shape == shape && a.backward == backward;
  });
  return at != all.end() ? &*at : nullptr;
}

std::string range_name(std::size_t i) { return "operator " + std::to_string(i + 1); }

bool is_routed(const Shape& shape) {
  const Linear* const s = std::get_if<Linear>(&shape);
  return s != nullptr && s->top_k > 0;
}

/// The separate count of one operator. Throws std::runtime_error if it did not run.
const ApartCount& counted_alone(const std::vector<ApartCount>& apart, const OpRuns& op) {
  const ApartCount* const one = found(apart, op.op, op.shape, op.backward);
  if (one == nullptr) throw std::runtime_error(op.op + " was predicted but did not run");
  return *one;
}

}  // namespace

bool TensorCount::within() const {
  return counted >= predicted * (1 - metered_tolerance) && counted <= predicted * (1 + metered_tolerance);
}

std::vector<ApartCount> counted_apart(model::Backend& b, const std::function<void(model::Trace*)>& run) {
  model::Instruments& device = *b.instruments();
  std::vector<ApartCount> all;
  bool open = false;
  model::Trace trace;
  trace.before = [&](std::string_view op, const Shape& shape, model::Direction direction) {
    const bool backward = direction == model::Direction::backward;
    const std::optional<model::TensorWork> work = device.tensor_work({.shape = shape, .backward = backward});
    if (!work || work->kind == WorkKind::products || found(all, op, shape, backward) != nullptr) return;
    device.begin(range_name(all.size()));
    all.push_back({.op = std::string(op), .shape = shape, .backward = backward});
    open = true;
  };
  trace.after = [&] {
    if (!open) return;
    device.end();
    ApartCount& last = all.back();
    if (const Attention* const s = std::get_if<Attention>(&last.shape); s != nullptr && s->queries > 1)
      last.core = b.attention_cores().of(last.backward);
    open = false;
  };
  device.start_counting();
  run(&trace);
  const std::vector<model::RangeCount> counted = device.stop_counting();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const model::RangeCount& c : counted)
      if (c.range == range_name(i)) all[i].flops = c.tensor_flops;
  return all;
}

std::vector<TensorCount> tensor_counts(const model::Instruments& device, const PhaseWork& phase, double counted,
                                       const std::vector<ApartCount>& apart, AttentionImpl how) {
  std::map<WorkKind, TensorCount> by;
  bool routed = false;
  double rest = counted;
  for (const OpRuns& op : phase.runs) {
    model::TensorOp run{op.shape, op.backward, op.flops, how};
    const std::optional<model::TensorWork> kind = device.tensor_work(run);
    if (!kind) continue;
    TensorCount& to = by[kind->kind];
    to.kind = kind->kind;
    const double times = static_cast<double>(op.times);
    if (to.kind != WorkKind::products) {
      const ApartCount& alone = counted_alone(apart, op);
      to.counted += times * alone.flops;
      to.core = alone.core;
      if (alone.core) run.core = alone.core->core;
    }
    to.predicted += times * device.tensor_work(run)->flops;
    routed = routed || is_routed(op.shape);
  }
  std::vector<TensorCount> all;
  for (auto& [kind, count] : by) {
    count.judged = kind == WorkKind::attention || (kind == WorkKind::products && !routed);
    if (kind != WorkKind::products) rest -= count.counted;
    all.push_back(count);
  }
  if (!all.empty() && all[0].kind == WorkKind::products) all[0].counted = rest;
  return all;
}

}  // namespace llmcalc::validate
