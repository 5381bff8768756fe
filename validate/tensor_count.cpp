#include "validate/tensor_count.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "model/instruments.hpp"

namespace llmcalc::validate {
namespace {

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

void add_apart(TensorCount& to, const OpRuns& op, const std::vector<ApartCount>& apart) {
  const ApartCount* const one = found(apart, op.op, op.shape, op.backward);
  if (one == nullptr) throw std::runtime_error(op.op + " was predicted and not run");
  to.counted += static_cast<double>(op.times) * one->flops;
  to.core = one->core;
}

}  // namespace

bool TensorCount::within() const {
  return counted >= predicted.least * (1 - metered_tolerance) && counted <= predicted.most * (1 + metered_tolerance);
}

std::vector<ApartCount> counted_apart(model::Backend& b, const std::function<void(model::Trace*)>& run) {
  model::Instruments& device = *b.instruments();
  std::vector<ApartCount> all;
  bool open = false;
  model::Trace trace;
  trace.before = [&](std::string_view op, const Shape& shape, model::Direction direction) {
    const bool backward = direction == model::Direction::backward;
    const std::optional<WorkKind> kind = kind_of(shape, backward);
    if (!kind || kind == WorkKind::products || found(all, op, shape, backward) != nullptr) return;
    device.begin(range_name(all.size()));
    all.push_back({std::string(op), shape, backward, "", 0});
    open = true;
  };
  trace.after = [&] {
    if (!open) return;
    device.end();
    if (std::holds_alternative<Attention>(all.back().shape)) all.back().core = b.attention_core();
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

std::vector<TensorCount> tensor_counts(const PhaseWork& phase, double counted, const std::vector<ApartCount>& apart,
                                       AttentionImpl how) {
  std::map<WorkKind, TensorCount> by;
  bool routed = false;
  double rest = counted;
  for (const OpRuns& op : phase.runs) {
    const std::optional<WorkKind> kind = kind_of(op.shape, op.backward);
    if (!kind) continue;
    TensorCount& to = by[*kind];
    to.kind = *kind;
    if (kind != WorkKind::products) add_apart(to, op, apart);
    const TensorFlops one = tensor_flops(op, how, to.core);
    to.predicted.least += static_cast<double>(op.times) * one.least;
    to.predicted.most += static_cast<double>(op.times) * one.most;
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
