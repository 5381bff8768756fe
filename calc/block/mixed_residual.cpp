#include "calc/block/mixed_residual.hpp"

namespace llmcalc {
namespace {

/// Number of tensors in a mix, averaged over the layers of a kind and rounded up.
Count mean_tensors(const Arch& a, const LayerKind& kind, bool first) {
  Count all = 0;
  for (Count i = kind.first; i <= kind.last; ++i)
    if (kind.layers.contains(i)) all = add(all, mixed_tensors(a, i, first));
  return ceil_div(all, kind.count);
}

TensorId mix(SegmentBuilder& b, std::string_view name, Inputs in, Count rows, Count tensors) {
  const Count width = b.arch().hidden;
  const Pointwise shape{
      .kind = PointwiseKind::mix, .rows = rows, .width = width, .top_k = tensors, .weights = mul(2, width)};
  return b.add(name, Component::norm, shape, Split::tokens, in);
}

}  // namespace

Count mixed_tensors(const Arch& a, Count layer, bool first) {
  const Count n = a.residual_block;
  return first ? ceil_div(layer, n) + 1 : layer / n + 2;
}

Count mixed_at_end(const Arch& a) { return ceil_div(a.layers, a.residual_block) + 1; }

void set_mixed(Op& op, const Arch& a, Count layer) {
  Pointwise* const shape = std::get_if<Pointwise>(&op.shape);
  if (shape != nullptr && shape->kind == PointwiseKind::mix)
    shape->top_k = mixed_tensors(a, layer, op.in[0] == block_input);
}

TensorId mixed_residual(SegmentBuilder& b, std::string_view name, TensorId x, bool first) {
  if (b.arch().residual_block == 0) return x;
  if (first && b.kind().opens_block) b.save_input();
  return mix(b, name, x, b.tokens(), mean_tensors(b.arch(), b.kind(), first));
}

TensorId mixed_at_end(SegmentBuilder& b, TensorId x, Count rows) {
  if (b.arch().residual_block == 0) return x;
  const TensorId saved = b.outside();
  return mix(b, "head.mix", {x, saved}, rows, mixed_at_end(b.arch()));
}

}  // namespace llmcalc
