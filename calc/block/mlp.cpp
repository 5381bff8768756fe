#include "calc/block/mlp.hpp"

namespace llmcalc {
namespace {

/// Component and operator names of one MLP: dense, routed experts or shared experts.
struct MlpNames {
  Component component;
  std::string_view gate, up, act, mul, down;
};
constexpr MlpNames dense_names{Component::mlp, "mlp.gate", "mlp.up", "mlp.act", "mlp.mul", "mlp.down"};
constexpr MlpNames expert_names{Component::experts, "mlp.expert_gate", "mlp.expert_up",
                                "mlp.expert_act",   "mlp.expert_mul",  "mlp.expert_down"};
constexpr MlpNames shared_names{Component::shared_experts, "mlp.shared_gate", "mlp.shared_up",
                                "mlp.shared_act",          "mlp.shared_mul",  "mlp.shared_down"};

/// Builds an MLP: up (and gate) projection, activation, down projection. `matrix` supplies rows, groups, top_k and
/// the input width (0: the model's); this function fills in the widths of each matrix.
TensorId feed_forward(SegmentBuilder& b, const MlpNames& names, TensorId x, Linear matrix, Count width) {
  const Arch& a = b.arch();
  const Count outer = matrix.in > 0 ? matrix.in : a.hidden;
  const auto project = [&](std::string_view name, Split split, TensorId in, Count from, Count to) {
    matrix.in = from;
    matrix.out = to;
    return b.matrix(name, names.component, matrix, split, in);
  };
  const bool is_dense = names.component == Component::mlp;
  const auto element = [&](std::string_view name, PointwiseKind kind, TensorId in, TensorId other, Count weights) {
    const Pointwise p{.kind = kind, .rows = matrix.rows, .width = width, .weights = weights};
    return b.add(name, names.component, p, Split::width, {in, other});
  };
  const Count learned = a.activation == Activation::xielu ? 2 : 0;
  TensorId h = no_tensor;
  if (a.mlp == MlpKind::plain) {
    const TensorId up = project(names.up, Split::column, x, outer, width);
    h = element(names.act, PointwiseKind::activate, up, no_tensor, learned);
  } else {
    const TensorId gate = project(names.gate, Split::column, x, outer, width);
    const TensorId up = project(names.up, Split::column, x, outer, width);
    if (b.step().fused_glu) {
      h = element(names.act, PointwiseKind::gate, gate, up, learned);
    } else {
      const TensorId act = element(names.act, PointwiseKind::activate, gate, no_tensor, learned);
      h = element(names.mul, PointwiseKind::multiply, act, up, 0);
    }
  }
  if (is_dense && a.sub_norms)
    h = b.add("mlp.sub_norm", Component::mlp, Norm{matrix.rows, width, width}, Split::width, h);
  matrix.bias = matrix.bias || (is_dense && a.mlp_out_bias);
  return project(names.down, Split::row, h, width, outer);
}

/// Output of the shared experts, which always run. The caller adds it to the output of the routed experts.
TensorId shared_experts(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  const Moe& m = a.moe;
  const TensorId y = feed_forward(b, shared_names, x, {.rows = b.tokens()}, mul(m.shared_experts, m.shared_width));
  if (!m.shared_gate) return y;
  const TensorId g = b.linear("mlp.shared_weight", Component::router, Split::inside, x, a.hidden, 1, false);
  return b.pointwise("mlp.shared_scale", Component::mlp, PointwiseKind::multiply, Split::partial, y, g, a.hidden);
}

/// Router logits. The router may begin with a norm.
TensorId router(SegmentBuilder& b, TensorId x) {
  const Arch& a = b.arch();
  const Moe& m = a.moe;
  if (m.router_scales)
    x = b.add("mlp.router_norm", Component::router, Norm{b.tokens(), a.hidden, a.hidden}, Split::tokens, x);
  return b.linear("mlp.router", Component::router, Split::inside, x, a.hidden, m.choices(), m.router_bias);
}

}  // namespace

TensorId experts(SegmentBuilder& b, TensorId x, TensorId routed_by) {
  const Arch& a = b.arch();
  const Moe& m = a.moe;
  const bool narrow = m.latent_width > 0;
  const Count wide = narrow ? m.latent_width : a.hidden;  // width of the routed experts' input and output
  const Count t = b.tokens(), each = m.visited(), routed = mul(t, each);
  const Pointwise route{.kind = PointwiseKind::route,
                        .rows = t,
                        .width = m.choices(),
                        .top_k = m.top_k,
                        .weights = m.router_scales ? m.experts : 0};
  const TensorId gates = b.add("mlp.route", Component::mlp, route, Split::inside, router(b, routed_by));
  TensorId own = x;
  if (narrow) own = b.linear("mlp.latent_down", Component::mlp, Split::inside, x, a.hidden, wide, false);
  if (m.latent_norm) own = b.add("mlp.latent_norm", Component::mlp, Norm{t, wide, wide}, Split::inside, own);
  const TensorId sent = b.add("mlp.dispatch", Component::mlp,
                              Pointwise{.kind = PointwiseKind::dispatch, .rows = routed, .width = wide, .top_k = each},
                              Split::inside, own);
  const TensorId out =
      feed_forward(b, expert_names, sent,
                   {.rows = routed, .in = wide, .groups = m.experts, .top_k = each, .bias = m.expert_bias}, m.width);
  TensorId y = b.add("mlp.combine", Component::mlp,
                     Pointwise{.kind = PointwiseKind::combine, .rows = t, .width = wide, .top_k = each}, Split::partial,
                     {out, gates});
  if (narrow) y = b.linear("mlp.latent_up", Component::mlp, Split::partial, y, wide, a.hidden, false);
  if (m.zero_experts > 0)
    y = b.add("mlp.zero_add", Component::mlp, Pointwise{.kind = PointwiseKind::add_own, .rows = t, .width = a.hidden},
              Split::partial, {y, x, gates});
  if (m.shared_experts > 0) {
    const TensorId shared = shared_experts(b, x);
    y = b.pointwise("mlp.shared_add", Component::mlp, PointwiseKind::add, Split::partial, y, shared, a.hidden);
  }
  return y;
}

TensorId dense_mlp(SegmentBuilder& b, TensorId x, Count width) {
  const Step& s = b.step();
  const Arch& a = b.arch();
  const Shift mixes{s.sequences, s.queries, a.hidden, a.mlp_receptance ? 2 : 1};
  if (a.mlp_shift) x = b.add("mlp.shift", Component::mlp, mixes, Split::inside, x);
  const TensorId y = feed_forward(b, dense_names, x, {.rows = b.tokens(), .bias = a.mlp_bias}, width);
  if (!a.mlp_receptance) return y;
  const TensorId g = b.linear("mlp.receptance", Component::mlp, Split::inside, x, a.hidden, a.hidden, false);
  return b.pointwise("mlp.receptance_mul", Component::mlp, PointwiseKind::gate, Split::partial, g, y, a.hidden);
}

}  // namespace llmcalc
