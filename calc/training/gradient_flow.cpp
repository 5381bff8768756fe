#include "calc/training/gradient_flow.hpp"

#include <algorithm>
#include <array>

#include "calc/cost/cost.hpp"

namespace llmcalc {
namespace {

/// Whether backward reads the operator's inputs.
bool needs_inputs(const Op& op) { return std::holds_alternative<Linear>(op.shape) ? trains(op) : has_backward(op); }

bool is_route(const Op& op) {
  const Pointwise* p = std::get_if<Pointwise>(&op.shape);
  return p != nullptr && p->kind == PointwiseKind::route;
}

bool is_reread(const OpList& ops, TensorId t) {
  return std::any_of(ops.begin(), ops.end(), [&](const Op& reader) {
    return needs_inputs(reader) && std::find(reader.in.begin(), reader.in.end(), t) != reader.in.end();
  });
}

}  // namespace

bool trains(const Op& op) {
  return !op.is_frozen() && (std::holds_alternative<Linear>(op.shape) || learned(op.shape).total > 0);
}
bool has_backward(const Op& op) { return op.asks || trains(op); }
bool result_asks(const Op& op) { return has_backward(op) && !std::holds_alternative<IndexScores>(op.shape); }
bool has_input_gradient(const Op& op) { return op.asks || (trains(op) && !std::holds_alternative<Linear>(op.shape)); }

bool mark_asking(OpList& ops, bool input_asks) {
  std::array<bool, most_tensors> asks{};
  asks.fill(input_asks);  // the block's input, and tensors of other segments
  bool result = input_asks;
  for (Op& op : ops) {
    op.asks = !op.detached && std::any_of(op.in.begin(), op.in.end(), [&](TensorId t) { return asks[t]; });
    if (Collective* c = std::get_if<Collective>(&op.shape); c != nullptr && !op.asks) c->backward_on = false;
    if (op.in_place()) continue;
    result = asks[op.out] = result_asks(op);
  }
  for (Op& op : ops) op.reread = is_route(op) && !has_backward(op) && is_reread(ops, op.out);
  for (Op& op : ops)
    if (Collective* c = std::get_if<Collective>(&op.shape)) c->regather = c->regather && is_reread(ops, op.out);
  return result;
}

}  // namespace llmcalc
