#include "calc/cost/cost.hpp"

#include "calc/cost/shape_costs.hpp"
#include "calc/training/gradient_flow.hpp"
#include "calc/training/muon.hpp"

namespace llmcalc {
namespace {

using shape_costs::d;

// ---- Number of elements in the result.

Count out_elements(const Lookup& s) { return mul(s.tokens, s.width); }
Count out_elements(const Linear& s) { return mul(s.rows, s.out); }
Count out_elements(const Norm& s) { return mul(s.rows, s.width); }
Count out_elements(const Attention& s) { return mul(s.rows(), s.heads, s.v_dim); }
Count out_elements(const IndexScores&) { return 0; }  // the result is indices: see result_bytes
Count out_elements(const Pool& s) { return mul(s.pooled(), s.width); }
Count out_elements(const LinearAttention& s) { return mul(s.rows(), s.heads, s.head_dim); }
Count out_elements(const Convolution& s) { return mul(s.rows(), s.channels); }
Count out_elements(const Shift& s) { return mul(s.rows(), s.mixes, s.width); }
Count out_elements(const Pointwise& s) { return mul(s.rows, s.width); }
Count out_elements(const Loss&) { return 0; }
Count out_elements(const Collective& s) { return s.out_elements; }

// ---- Special functions evaluated by element-wise kernels.

double functions(const Loss& s, bool) { return d(s.rows) * d(s.vocabulary); }
double functions(const Pointwise& s, bool is_backward) {
  const bool activates =
      s.kind == PointwiseKind::activate || s.kind == PointwiseKind::gate || s.kind == PointwiseKind::blend;
  return activates ? (is_backward ? 2 : 1) * d(s.rows) * d(s.width) : 0;
}
double functions(const Lookup&, bool) { return 0; }
double functions(const Linear&, bool) { return 0; }
double functions(const Norm&, bool) { return 0; }
double functions(const Attention&, bool) { return 0; }
double functions(const IndexScores&, bool) { return 0; }
double functions(const Pool& s, bool) { return d(s.rows()) * d(s.wide); }  // softmax of the gates
double functions(const LinearAttention&, bool) { return 0; }
double functions(const Convolution& s, bool is_backward) {
  return s.activated ? (is_backward ? 2 : 1) * d(s.rows()) * d(s.channels) : 0;
}
double functions(const Shift&, bool) { return 0; }
double functions(const Collective&, bool) { return 0; }

}  // namespace

Cost forward(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return shape_costs::forward(shape, p, w); }, s);
}
Cost backward_input(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return shape_costs::backward_input(shape, p, w); }, s);
}
Cost backward_weight(const Shape& s, const Pricing& p, Component c) {
  const Stored w = stored(s, c, p);
  return std::visit([&](const auto& shape) { return shape_costs::backward_weight(shape, p, w); }, s);
}
Cost backward(const Shape& s, const Pricing& p, Component c) {
  Cost both = backward_input(s, p, c);
  return both += backward_weight(s, p, c);
}
namespace {
/// Pricing for frozen weights, which have no gradient.
Pricing without_gradients(Pricing p) {
  p.gradient_bytes = 0;
  return p;
}
}  // namespace

Costs costs(const Op& op, const Pricing& p) {
  const Stored w = stored(op, p);
  if (!has_backward(op) || !p.training()) return {forward(op, p), {}, {}};
  if (op.is_frozen()) {
    const Pricing frozen = without_gradients(p);
    if (std::holds_alternative<Lookup>(op.shape)) return {forward(op, frozen), {}, {}};
    return std::visit(
        [&](const auto& s) -> Costs {
          return {shape_costs::forward(s, frozen, w), shape_costs::backward_input(s, frozen, w), {}};
        },
        op.shape);
  }
  return std::visit(
      [&](const auto& s) -> Costs {
        const Cost ahead = shape_costs::forward(s, p, w);
        return {ahead, has_input_gradient(op) ? shape_costs::backward_input(s, p, w) : Cost(),
                shape_costs::backward_weight(s, p, w)};
      },
      op.shape);
}
Cost forward(const Op& op, const Pricing& p) {
  const Stored w = stored(op, p);
  Cost c = std::visit([&](const auto& s) { return shape_costs::forward(s, p, w); }, op.shape);
  c.moved.weights *= p.weight.held_ratio(stored_component(op.shape, op.component), op.owner);
  return c;
}
Cost backward(const Op& op, const Pricing& p) {
  Costs c = costs(op, p);
  return c.backward_input += c.backward_weight;
}
Cost cost(const Op& op, const Pricing& p, Direction direction) {
  switch (direction) {
    case Direction::forward:
      return forward(op, p);
    case Direction::backward_input:
      return costs(op, p).backward_input;
    case Direction::backward_weight:
      return costs(op, p).backward_weight;
  }
  return {};
}
double functions(const Shape& s, bool is_backward) {
  return std::visit([&](const auto& shape) { return functions(shape, is_backward); }, s);
}
Learned learned(const Shape& s) {
  return std::visit([](const auto& shape) { return shape_costs::learned(shape); }, s);
}
Learned learned(const Op& op) {
  Learned l = learned(op.shape);
  if (op.borrowed) return {.matmul = l.matmul, .matmul_idle = l.matmul_idle};
  if (op.is_frozen()) {
    l.frozen = l.total;
    l.factored = 0;
  }
  l.adamw = l.trained() - muon_matrices(op).numbers();
  return l;
}
Count out_elements(const Shape& s) {
  return std::visit([](const auto& shape) { return out_elements(shape); }, s);
}
Bytes result_bytes(const Shape& s, DType activation) {
  const IndexScores* scores = std::get_if<IndexScores>(&s);
  return scores != nullptr ? Bytes(mul(4, scores->chosen())) : bytes_of(activation, out_elements(s));
}

}  // namespace llmcalc
