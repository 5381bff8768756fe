// RWKV's operators: see model/layers/rwkv.hpp.

#include "model/layers/rwkv.hpp"

#include "model/pass/operands.hpp"

namespace llmcalc::model {

Value Pass::shift(std::string_view op, Value x, Count mixes) {
  return shifted(op, op, std::move(x), {.sequences = step_.sequences, .queries = step_.queries, .mixes = mixes});
}

Value Pass::peek(std::string_view op, std::string_view keeper, const Value& x) {
  return shifted(op, keeper, x, {.sequences = step_.sequences, .queries = step_.queries, .peeks = true});
}

Value Pass::shifted(std::string_view op, std::string_view keeper, Value given, Shift s) {
  const Value x = std::move(given);
  Parameter* const shares = weight(op, "shares");
  s.width = x.width;
  ShiftView v{.x = x.data->data(), .shares = value(shares), .state = cached_state(keeper), .begins = step_.past == 0};
  Value y = make(op, x.rows, mul(s.mixes, x.width));
  forward(op, s, [&] { backend_.rwkv()->shift(s, v, y.data->data()); });
  if (taping())
    remember(op, s,
             [this, op, s, v, shares, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot]() mutable {
               const Tensor dy = taken(out), x_data = saved.get();
               v.x = x_data->data();
               v.shares = value(shares);
               backend_.rwkv()->shift_gradient(s, v, dy->data(), place(op, in, n), {}, sum(shares));
             });
  return y;
}

Value Pass::moved_shift(std::string_view op, Value x, Value moves, Count mixes) {
  const std::array<Value, 2> in{std::move(x), std::move(moves)};
  Parameter* const shares = weight(op, "shares");
  const Shift s{
      .sequences = step_.sequences, .queries = step_.queries, .width = in[0].width, .mixes = mixes, .moved = true};
  const auto view = [this, op, shares](const Tensor& from, const Tensor& by) {
    return ShiftView{.x = from->data(),
                     .shares = value(shares),
                     .moves = by->data(),
                     .state = cached_state(op),
                     .begins = step_.past == 0};
  };
  Value y = make(op, in[0].rows, mul(mixes, s.width));
  forward(op, s, [&] { backend_.rwkv()->shift(s, view(in[0].data, in[1].data), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, shares, view, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto from = all.data();
      const auto d = all.places(*this, op);
      backend_.rwkv()->shift_gradient(s, view(from[0], from[1]), dy->data(), d[0], d[1], sum(shares));
    });
  return y;
}

Value Pass::linear_of_part(std::string_view op, Value x, Count part) {
  return product(op, std::move(x), {.from = mul(part, arch_.hidden)});
}

GradientPlace Pass::place(std::string_view op, const std::shared_ptr<TapeSlot>& x, Count elements) {
  const Into to = into(op, x, elements);
  return {to.data, to.add};
}

Value Pass::blend(std::string_view op, Value a, Value b, Value share) {
  const std::array<Value, 3> in{std::move(a), std::move(b), std::move(share)};
  const Pointwise s{.kind = PointwiseKind::blend, .rows = in[0].rows, .width = in[0].width};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] {
    backend_.rwkv()->blend(s, in[0].data->data(), in[1].data->data(), in[2].data->data(), y.data->data());
  });
  if (taping())
    remember(op, s, [this, op, s, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto x = all.data();
      const auto d = all.places(*this, op);
      backend_.rwkv()->blend_gradient(s, x[0]->data(), x[1]->data(), x[2]->data(), dy->data(), d[0], d[1], d[2]);
    });
  return y;
}

Value Pass::gate_key(std::string_view op, Value rate, Value k) {
  const std::array<Value, 2> in{std::move(rate), std::move(k)};
  Parameter* const w = weight(op, "shares");
  const Pointwise s{.kind = PointwiseKind::gate,
                    .rows = in[0].rows,
                    .width = in[0].width,
                    .weights = w->elements(),
                    .per_number = true};
  Value y = make(op, s.rows, s.width);
  forward(op, s,
          [&] { backend_.rwkv()->gate_key(s, in[0].data->data(), in[1].data->data(), value(w), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, w, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto x = all.data();
      const auto d = all.places(*this, op);
      backend_.rwkv()->gate_key_gradient(s, x[0]->data(), x[1]->data(), value(w), dy->data(), d[0], d[1], sum(w));
    });
  return y;
}

Value Pass::unit(std::string_view op, Value given, Count heads) {
  const Value x = std::move(given);
  Parameter* const w = weight(op, "weight");
  const Norm s{.rows = mul(x.rows, heads), .width = x.width / heads, .weights = w->elements(), .per_head = true};
  Value y = make(op, x.rows, x.width);
  Tensor inverse;
  if (taping() && plan().norm_stats) inverse = own(op, s.rows * backend_.wide());
  forward(op, s, [&] { backend_.rwkv()->unit(s, x.data->data(), value(w), y.data->data(), data(inverse)); });
  if (taping())
    remember(op, s, [this, op, s, w, inverse, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot] {
      const Tensor dy = taken(out), x_data = saved.get();
      backend_.rwkv()->unit_gradient(s, x_data->data(), value(w), data(inverse), dy->data(), place(op, in, n), sum(w));
    });
  return y;
}

Value Pass::bonus(std::string_view op, Count heads, std::array<Value, 5> given) {
  const std::array<Value, 5> in = std::move(given);
  Parameter* const w = weight(op, "shares");
  const Pointwise s{.kind = PointwiseKind::bonus,
                    .rows = in[0].rows,
                    .width = in[0].width,
                    .weights = w->elements(),
                    .per_number = true};
  const Count head = s.width / heads;
  const auto view = [this, w](const std::array<Tensor, 5>& x) {
    return BonusView{x[0]->data(), x[1]->data(), x[2]->data(), x[3]->data(), x[4]->data(), value(w)};
  };
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] {
    backend_.rwkv()->bonus(s, head, view({in[0].data, in[1].data, in[2].data, in[3].data, in[4].data}), y.data->data());
  });
  if (taping())
    remember(op, s, [this, op, s, head, w, view, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto x = all.data();
      const auto d = all.places(*this, op);
      backend_.rwkv()->bonus_gradient(s, head, view(x), dy->data(), {d[0], d[1], d[2], d[3], d[4], sum(w)});
    });
  return y;
}

Value Pass::sigmoid(std::string_view op, Value given) {
  const Value x = std::move(given);
  const Pointwise s{.kind = PointwiseKind::activate, .rows = x.rows, .width = x.width};
  Value y = make(op, x.rows, x.width);
  forward(op, s, [&] { backend_.rwkv()->sigmoid(s, x.data->data(), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, saved = keep(op, x), in = x.slot, out = y.slot, n = x.elements()] {
      const Tensor dy = taken(out), x_data = saved.get();
      backend_.rwkv()->sigmoid_gradient(s, x_data->data(), dy->data(), place(op, in, n));
    });
  return y;
}

}  // namespace llmcalc::model
