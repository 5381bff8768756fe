#include "calc/block/per_layer.hpp"

namespace llmcalc {

void make_per_layer_inputs(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  constexpr Component c = Component::embedding;
  const Count t = b.tokens(), p = a.per_layer.width, all = mul(a.layers, p);
  const TensorId looked_up = b.add("embedding.per_layer", c, Lookup{t, a.per_layer.rows, all}, Split::row, block_input);
  const TensorId projected = b.linear("embedding.per_layer_project", c, Split::tokens, x, a.hidden, all, false);
  const TensorId normed =
      b.add("embedding.per_layer_norm", Component::norm, Norm{mul(t, a.layers), p, p}, Split::tokens, projected);
  b.pointwise("embedding.per_layer_add", c, PointwiseKind::add, Split::tokens, looked_up, normed, all);
  b.set_result(x);
}

namespace {
/// act(g) * e, in one kernel or in two.
TensorId gated(SegmentBuilder& b, TensorId g, TensorId e) {
  const auto element = [&](std::string_view name, PointwiseKind kind, TensorId in, TensorId other) {
    return b.pointwise(name, Component::mlp, kind, Split::tokens, in, other, b.arch().per_layer.width);
  };
  if (b.step().fused_glu) return element("per_layer.act", PointwiseKind::gate, g, e);
  return element("per_layer.mul", PointwiseKind::multiply,
                 element("per_layer.act", PointwiseKind::activate, g, no_tensor), e);
}
}  // namespace

TensorId per_layer_input(SegmentBuilder& b, TensorId x) {
  constexpr Component c = Component::mlp;
  const Count d = b.arch().hidden, p = b.arch().per_layer.width;
  const TensorId e = b.outside();
  const TensorId g = b.linear("per_layer.gate", c, Split::tokens, x, d, p, false);
  const TensorId y = b.linear("per_layer.project", c, Split::tokens, gated(b, g, e), p, d, false);
  return b.norm("per_layer.norm", y, b.tokens());
}

TensorId add_per_layer_input(SegmentBuilder& b, TensorId x) {
  return b.pointwise("per_layer.add", Component::mlp, PointwiseKind::add, Split::tokens, x, per_layer_input(b, x),
                     b.arch().hidden);
}

}  // namespace llmcalc
