#include "calc/cost/shape_costs.hpp"

namespace llmcalc::shape_costs {

// ---- Lookup: y (tokens, width) = table[ids]. No FLOPs; reads `tokens` rows of the table.

Cost forward(const Lookup& s, const Pricing& p, const Stored& w) {
  const double n = d(s.tokens) * d(s.width);
  return {.moved = {.weights = matrix_bytes(w.matrix, s.tokens, s.width), .activations = bytes(p.activation, n)}};
}
/// Ids have no gradient.
Cost backward_input(const Lookup&, const Pricing&, const Stored&) { return {}; }
/// Scatter-add of the output's gradient into `tokens` rows.
Cost backward_weight(const Lookup& s, const Pricing& p, const Stored&) {
  const double n = d(s.tokens) * d(s.width);
  return {.moved = {.weights = gradient_traffic(p, n), .activations = bytes(p.activation, n)}};
}
Learned learned(const Lookup& s) {
  if (s.tied) return {};
  const Count n = mul(s.rows, s.width);
  return {.total = n, .factored = add(s.rows, s.width)};
}

// ---- Linear: y (rows, out) = x (rows, in) W. 2 rows in out FLOPs (Narayanan et al. 2021, arXiv:2104.04473); excludes
// bias and activation, which are element-wise. Backward: dx = dy W' and dW = x' dy, exactly twice forward. Bytes read:
// see calc/operator/operand.hpp.

Cost forward(const Linear& s, const Pricing&, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * (matrix_read(s, w) + (s.bias ? bytes(w.vector, d(s.out)) : 0)),
           .activations = operand_read(w.operand, s.rows, s.in) + bytes(w.result, d(s.rows) * d(s.out))}};
}
/// dx = dy W': reads the weights and dy, writes dx.
Cost backward_input(const Linear& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * transposed_read(s, w),
           .activations = bytes(p.activation, d(s.rows) * d(s.in)) + operand_read(w.operand, s.rows, s.out)}};
}
/// dW = x' dy: reads x and dy, writes the gradient.
Cost backward_weight(const Linear& s, const Pricing& p, const Stored& w) {
  const Flops f = flops(2, s.rows, s.in, s.out);
  return {f,
          f,
          {.weights = groups_touched(s) * gradient_traffic(p, d(s.in) * d(s.out) + (s.bias ? d(s.out) : 0)),
           .activations = operand_read(w.operand, s.in, s.rows) + operand_read(w.operand, s.out, s.rows)}};
}
Learned learned(const Linear& s) {
  const Count matrix = mul(s.in, s.out), bias = s.bias ? s.out : 0;
  // A token's experts are assumed to be spread evenly over the ranks, so this rank runs at least its share.
  const Count idle = s.top_k > 0 ? s.groups - ceil_div(s.top_k, s.expert_ranks) : 0;
  Learned one{.total = add(matrix, bias), .matmul = matrix, .factored = add(add(s.in, s.out), bias)};
  Learned r = s.groups * one;
  if (s.tied) r.total = r.factored = bias;
  r.idle = mul(idle, one.total);
  r.matmul_idle = mul(idle, matrix);
  return r;
}

// ---- Norm: at most 2 passes over (rows, width); no matmul.

Cost forward(const Norm& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows) * d(s.width);
  return {.moved = {.weights = bytes(w.vector, d(s.weights)), .activations = 2 * bytes(p.activation, n)}};
}
Cost backward_input(const Norm& s, const Pricing& p, const Stored& w) {
  const double n = d(s.rows) * d(s.width);
  return {.moved = {.weights = bytes(w.vector, d(s.weights)) + gradient_traffic(p, d(s.weights)),
                    .activations = 3 * bytes(p.activation, n)}};
}
Learned learned(const Norm& s) { return {.total = s.weights, .factored = s.weights}; }

}  // namespace llmcalc::shape_costs
