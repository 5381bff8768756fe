// A mixture of experts: router, dispatch and combination. Also the absorbed projections of latent attention, whose
// weights are likewise one matrix per group.

#include "model/pass/pass.hpp"

namespace llmcalc::model {
Value Pass::route(std::string_view op, Value given) {
  const Value x = std::move(given);
  Parameter* const factors = weight(op, "factors");
  const Pointwise s{.kind = PointwiseKind::route,
                    .rows = x.rows,
                    .width = x.width,
                    .top_k = arch_.moe.top_k,
                    .weights = factors != nullptr ? factors->elements() : 0};
  Value gates = make(op, s.rows, s.width);
  const bool back = flows(op, {&x}, gates);
  // Saves the probabilities, then all gates. The gates define the choice, which the experts' gradients also need.
  if (taping() && (back || trains("mlp.expert_down")))
    gates.slot->saved = own(op, mul(2, s.rows, s.width) * backend_.wide());
  const bool has_own = arch_.moe.zero_experts > 0;
  forward(op, s, [&] {
    has_own ? backend_.route_own(s, arch_.moe, x.data->data(), gates.data->data(), data(gates.slot->saved))
            : backend_.route(s, x.data->data(), gates.data->data(), data(gates.slot->saved));
    if (factors != nullptr) backend_.scale_gates(s, value(factors), gates.data->data());
  });
  if (!back && gates.slot->saved) tape_->remember([out = gates.slot] { out->saved = nullptr; });
  if (back)
    remember(op, s, [this, op, s, factors, has_own, in = x.slot, out = gates.slot] {
      const Tensor dy = taken(out);
      if (factors != nullptr)
        backend_.scale_gates_gradient(s, out->saved->data(), value(factors), dy->data(), sum(factors));
      const Into dx = into(op, in, mul(s.rows, s.width));
      has_own ? backend_.route_own_gradient(s, arch_.moe, out->saved->data(), dy->data(), dx.data, dx.add)
              : backend_.route_gradient(s, out->saved->data(), dy->data(), dx.data, dx.add);
      out->saved = nullptr;
    });
  return gates;
}

Value Pass::dispatch(std::string_view op, Value given, const Value& gates) {
  const Value x = std::move(given);
  const Count k = arch_.moe.visited(), experts = arch_.moe.experts;
  const Pointwise s{.kind = PointwiseKind::dispatch, .rows = mul(x.rows, k), .width = x.width, .top_k = k};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.dispatch(s, experts, gates.data->data(), x.data->data(), y.data->data()); });
  if (flows(op, {&x}, y))
    remember(op, s, [this, op, s, experts, saved = gates.slot->saved, in = x.slot, n = x.elements(), out = y.slot] {
      const Tensor dy = taken(out);
      const Into dx = into(op, in, n);
      backend_.dispatch_gradient(s, experts, saved->data(), dy->data(), dx.data, dx.add);
    });
  return y;
}

Value Pass::combine(std::string_view op, Value given, Value given_gates) {
  const Value x = std::move(given), gates = std::move(given_gates);
  const Count experts = arch_.moe.experts;
  const Pointwise s{.kind = PointwiseKind::combine, .rows = gates.rows, .width = x.width, .top_k = arch_.moe.visited()};
  Value y = make(op, s.rows, s.width);
  const bool back = flows(op, {&x, &gates}, y);
  const Tensor own_gates = back ? own(op, x.rows * backend_.wide()) : nullptr;
  forward(op, s,
          [&] { backend_.combine(s, experts, gates.data->data(), x.data->data(), y.data->data(), data(own_gates)); });
  if (back)
    remember(op, s,
             [this, op, s, experts, own_gates, route_saved = gates.slot->saved, saved = keep(op, x), in = x.slot,
              n = x.elements(), gate_slot = gates.slot, gates_elements = gates.elements(), out = y.slot] {
               const Tensor dy = taken(out), x_data = saved.get();
               const Into dx = into(op, in, n), dg = into(op, gate_slot, gates_elements);
               backend_.combine_gradient(s, experts, route_saved->data(), x_data->data(), own_gates->data(), dy->data(),
                                         dx.data, dx.add, dg.data, dg.add);
             });
  return y;
}

Value Pass::add_own(std::string_view op, Value given, Value given_own, Value given_gates) {
  const Value y = std::move(given), x = std::move(given_own), gates = std::move(given_gates);
  const Pointwise s{.kind = PointwiseKind::add_own, .rows = x.rows, .width = x.width};
  Value z = make(op, s.rows, s.width);
  forward(op, s,
          [&] { backend_.add_own(s, arch_.moe, gates.data->data(), y.data->data(), x.data->data(), z.data->data()); });
  if (flows(op, {&y, &x, &gates}, z))
    remember(op, s,
             [this, op, s, saved = keep(op, x), in = bare(x), route_saved = gates.slot->saved, from = bare(gates),
              first = y.slot, out = z.slot] {
               const Tensor dz = taken(out), x_data = saved.get();
               const Into dx = into(op, in.slot, in.elements()), dg = into(op, from.slot, from.elements());
               backend_.add_own_gradient(s, arch_.moe, route_saved->data(), x_data->data(), dz->data(), dx.data, dx.add,
                                         dg.data, dg.add);
               if (first->asks) first->gradient = dz;
             });
  return z;
}

Value Pass::absorbed(std::string_view op, const Value& x, bool values) {
  const Mixer& m = mixer();
  const Latent& l = m.latent;
  const Count up = l.nope_dim + l.v_dim, x_head = x.width / m.heads;
  const Parameter* w = weight("attn.kv_up", "weight");
  Linear s{.rows = mul(x.rows, m.heads), .in = l.nope_dim, .out = l.kv_rank, .groups = m.heads};
  if (values) {
    s.in = l.kv_rank;
    s.out = l.v_dim;
  }
  const LinearView v{.x = x.data->data(),
                     .weight = value(w),
                     .x_stride = x.width,
                     .head_rows = up,
                     .weight_offset = values ? l.nope_dim : 0,
                     .transposed = !values,
                     .x_head = x_head,
                     .y_head = s.out};
  Value y = make(op, x.rows, mul(m.heads, s.out));
  forward(op, s, [&] { backend_.linear(s, v, y.data->data()); });
  return y;
}

}  // namespace llmcalc::model
