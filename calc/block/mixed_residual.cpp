#include "calc/block/mixed_residual.hpp"

namespace llmcalc {

Count mixed_tensors(const Arch& a) {
  const Count n = a.residual_block;
  Count all = ceil_div(a.layers, n) + 1;
  for (Count i = 0; i < a.layers; ++i) all += (i > 0 ? ceil_div(i, n) + 1 : 0) + i / n + 2;
  return ceil_div(all, 2 * a.layers + 1);
}

Count saved_residuals(const Arch& a, Count tokens) {
  return mul(ceil_div(a.layers, a.residual_block), tokens, a.hidden);
}

TensorId mixed_residual(SegmentBuilder& b, std::string_view name, TensorId x, Count rows) {
  const Arch& a = b.arch();
  if (a.residual_block == 0) return x;
  return b.add(name, Component::norm,
               Pointwise{.kind = PointwiseKind::mix,
                         .rows = rows,
                         .width = a.hidden,
                         .top_k = mixed_tensors(a),
                         .weights = mul(2, a.hidden)},
               Split::tokens, x);
}

}  // namespace llmcalc
