// Separate inputs for every layer (calc/block/per_layer.hpp): e (tokens, layers x width), of which layer i reads its
// part (tokens, width). Parts are views of e; in backward, each part is overwritten by its gradient.

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// The current layer's part of e.
struct Pass::LayerInput {
  Tensor all;
  Count rows = 0, width = 0, from_row_to_row = 0, offset = 0;
  std::shared_ptr<TapeSlot> slot;
  std::byte* row(Count r, Bytes number) const {
    return static_cast<std::byte*>(all->data()) + (mul(r, from_row_to_row) + offset) * number.value;
  }
};

void Pass::give_layers(Value e) {
  if (taping()) {
    e.data->claim("embedding.per_layer_add");
    tape_->remember([this, slot = e.slot] { slot->gradient = std::exchange(layer_inputs_, {}).data; });
  }
  layer_inputs_ = std::move(e);
}

/// Returns the current layer's part of e. In backward, the part is overwritten by its gradient.
Pass::LayerInput Pass::layer_input() {
  const Count width = arch_.per_layer.width;
  const LayerInput part{.all = layer_inputs_.data,
                        .rows = layer_inputs_.rows,
                        .width = width,
                        .from_row_to_row = layer_inputs_.width,
                        .offset = mul(layer_, width),
                        .slot = std::make_shared<TapeSlot>()};
  if (taping())
    tape_->remember([this, part] {
      const Tensor d = taken(part.slot);
      const Bytes row = part.width * backend_.number();
      for (Count r = 0; r < part.rows; ++r)
        backend_.copy(part.row(r, backend_.number()), static_cast<std::byte*>(d->data()) + r * row.value, row);
    });
  return part;
}

/// x e with the current layer's input e, or act(x) e in one kernel, row by row. remade: as in Pass::gated.
Value Pass::with_layer_input(std::string_view op, PointwiseKind kind, bool remade, Value given) {
  const Value x = std::move(given);
  const LayerInput e = layer_input();
  const Pointwise s{.kind = kind, .rows = x.rows, .width = x.width}, one{.kind = kind, .rows = 1, .width = x.width};
  const bool gates = kind == PointwiseKind::gate;
  const auto at = [number = backend_.number(), width = x.width](void* rows, Count r) {
    return static_cast<std::byte*>(rows) + mul(r, width) * number.value;
  };
  const auto make_it = [this, op, s, one, gates, e, at](const Tensor& from) {
    Value y = make(op, s.rows, s.width);
    for (Count r = 0; r < s.rows; ++r) {
      const void *a = at(from->data(), r), *b = e.row(r, backend_.number());
      gates ? backend_.gate(one, arch_.activation, a, b, at(y.data->data(), r))
            : backend_.multiply(one, a, b, at(y.data->data(), r));
    }
    return y;
  };
  Value y;
  forward(op, s, [&] { y = make_it(x.data); });
  if (!taping()) return y;
  if (remade) y.slot->recompute = [make_it, from = x.data] { return make_it(from).data; };
  remember(op, s, [this, op, s, one, gates, e, at, saved = keep(op, x), in = x.slot, out = y.slot] {
    const Tensor dy = taken(out), from = saved.get();
    const Into dx = into(op, in, mul(s.rows, s.width)), de = into(op, e.slot, mul(s.rows, s.width));
    for (Count r = 0; r < s.rows; ++r) {
      const void *a = at(from->data(), r), *b = e.row(r, backend_.number()), *d = at(dy->data(), r);
      gates ? backend_.gate_gradient(one, arch_.activation, a, b, d, at(dx.data, r), dx.add, at(de.data, r), de.add)
            : backend_.multiply_gradient(one, a, b, d, at(dx.data, r), dx.add, at(de.data, r), de.add);
    }
  });
  return y;
}

Value Pass::gate_layer_input(std::string_view op, Value g) {
  return with_layer_input(op, PointwiseKind::gate, plan().glu_store == GluStore::recompute, std::move(g));
}
Value Pass::multiply_layer_input(std::string_view op, Value x) {
  return with_layer_input(op, PointwiseKind::multiply, false, std::move(x));
}

}  // namespace llmcalc::model
