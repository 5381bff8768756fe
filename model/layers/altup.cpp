// Operators of alternating updates: see model/layers/altup.hpp.

#include "model/layers/altup.hpp"

#include "model/pass/operands.hpp"

namespace llmcalc::model {
namespace {

Pointwise over_streams(PointwiseKind kind, const Value& x, Count streams) {
  return {.kind = kind, .rows = x.rows, .width = x.width, .top_k = streams};
}

}  // namespace

/// The last token of each of `rows` equal parts of x.
Pass::LastRows Pass::last_rows(const Value& x, Count rows) const {
  const Count apart = x.rows / rows;
  return {.first = mul(apart - 1, x.width), .apart = mul(apart, x.width)};
}

Value Pass::project_streams(std::string_view op, const Value& x, Count rows, bool is_own) {
  Parameter* const w = weight(op, "weight");
  const Count width = arch_.hidden, groups = w->shape.groups;
  const LastRows last = last_rows(x, rows);
  const Linear s{.rows = mul(groups, rows), .in = width, .out = width, .groups = groups};
  LinearView v{
      .weight = value(w), .x_stride = last.apart, .head_rows = width, .x_head = is_own ? width : 0, .y_head = width};
  const auto from = [at = (last.first + (is_own ? width : 0)) * backend_.number()](void* data) {
    return static_cast<std::byte*>(data) + at.value;
  };
  v.x = from(x.data->data());
  Value y = make(op, rows, mul(groups, width));
  forward(op, s, [&] { backend_.linear(s, v, y.data->data()); });
  if (taping())
    remember(op, s,
             [this, op, s, v, from, w, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot]() mutable {
               const Tensor dy = taken(out), x_data = saved.get();
               const Into dx = into_rows(op, in, n, true);
               v.x = from(x_data->data());
               const Into dw = matrix_sum(w);
               v.add_weight_gradient = dw.add;
               backend_.linear_gradient(s, v, dy->data(), from(dx.data), true, dw.data, nullptr);
             });
  return y;
}

Value Pass::stack(std::string_view op, Value x, Value projected) {
  const std::array<Value, 2> in{std::move(x), std::move(projected)};
  const Count n = arch_.streams;
  const Pointwise s{.kind = PointwiseKind::stack, .rows = in[0].rows, .width = mul(n, in[0].width), .top_k = n};
  Value y = make(op, s.rows, s.width);
  const auto view = [stride = in[0].width](const Tensor& a, const Tensor& b) {
    return StackView{a->data(), stride, b->data()};
  };
  forward(op, s, [&] { backend_.altup()->stack(s, view(in[0].data, in[1].data), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, view, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto t = all.data();
      const auto d = all.places(*this, op);
      backend_.altup()->stack_gradient(s, view(t[0], t[1]), dy->data(), d[0], d[1]);
    });
  return y;
}

Value Pass::merge(std::string_view op, Value x, Value projected) {
  const std::array<Value, 2> in{std::move(x), std::move(projected)};
  const Count n = arch_.streams;
  const Pointwise s{.kind = PointwiseKind::gather, .rows = in[1].rows, .width = in[0].width / n, .top_k = n};
  const LastRows last = last_rows(in[0], s.rows);
  const auto view = [last, number = backend_.number()](const Tensor& a, const Tensor& b) {
    return StackView{static_cast<const std::byte*>(a->data()) + (last.first * number).value, last.apart, b->data()};
  };
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.altup()->merge(s, view(in[0].data, in[1].data), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, view, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto t = all.data();
      const auto d = all.places(*this, op);
      backend_.altup()->merge_gradient(s, view(t[0], t[1]), dy->data(), d[0], d[1]);
    });
  return y;
}

Value Pass::predict(std::string_view op, Value x, Value weights) {
  const std::array<Value, 2> in{std::move(x), std::move(weights)};
  const Pointwise s = over_streams(PointwiseKind::predict, in[0], arch_.streams);
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.altup()->predict(s, in[0].data->data(), in[1].data->data(), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto t = all.data();
      const auto d = all.places(*this, op);
      backend_.altup()->predict_gradient(s, t[0]->data(), t[1]->data(), dy->data(), d[0], d[1]);
    });
  return y;
}

Value Pass::correct(std::string_view op, Value predicted, Value result, Value weights) {
  const std::array<Value, 3> in{std::move(predicted), std::move(result), std::move(weights)};
  const Pointwise s = over_streams(PointwiseKind::spread, in[0], arch_.streams);
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] {
    backend_.altup()->correct(s, in[0].data->data(), in[1].data->data(), in[2].data->data(), y.data->data());
  });
  if (taping())
    remember(op, s, [this, op, s, all = operands(op, in), out = y.slot] {
      const Tensor dy = taken(out);
      const auto t = all.data();
      const auto d = all.places(*this, op);
      backend_.altup()->correct_gradient(s, t[0]->data(), t[1]->data(), t[2]->data(), dy->data(), d[0], d[1], d[2]);
    });
  return y;
}

/// Adds dy to the first stream of dx; if dx is new, its other streams are zeroed.
void Pass::add_to_first(std::string_view op, const Pointwise& s, const Tensor& dy, const std::shared_ptr<TapeSlot>& x) {
  const Into dx = into_rows(op, x, mul(s.rows, s.width, arch_.streams), true);
  backend_.altup()->first_gradient(s, arch_.streams, dy->data(), dx.data);
}

Value Pass::first_stream(std::string_view op, const Value& x) {
  const Pointwise s{.kind = PointwiseKind::first, .rows = x.rows, .width = x.width / arch_.streams};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.altup()->first(s, arch_.streams, x.data->data(), nullptr, y.data->data()); });
  if (taping()) remember(op, s, [this, op, s, in = x.slot, out = y.slot] { add_to_first(op, s, taken(out), in); });
  return y;
}

Value Pass::add_first_stream(std::string_view op, const Value& x, Value given) {
  const Value a = std::move(given);
  const Pointwise s{.kind = PointwiseKind::add, .rows = a.rows, .width = a.width};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.altup()->first(s, arch_.streams, x.data->data(), a.data->data(), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, in = x.slot, second = a.slot, n = a.elements(), out = y.slot] {
      const Tensor dy = taken(out);
      share(op, dy, second, n, false);
      add_to_first(op, s, dy, in);
    });
  return y;
}

Value Pass::share_with_streams(std::string_view op, Value given, Value given_own) {
  const Value x = std::move(given), own = std::move(given_own);
  const Pointwise s = over_streams(PointwiseKind::share, x, arch_.streams);
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.altup()->share(s, x.data->data(), own.data->data(), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, in = x.slot, own = own.slot, each = own.elements(), n = x.elements(), out = y.slot] {
      const Tensor dy = taken(out);
      const Into dx = into(op, in, n), d_own = into(op, own, each);
      dx.add ? backend_.accumulate(n, dy->data(), dx.data) : backend_.copy(dx.data, dy->data(), dy->bytes());
      backend_.altup()->share_gradient(s, dy->data(), {d_own.data, d_own.add});
    });
  return y;
}

Value Pass::scale_heads(std::string_view op, Value given, Count heads) {
  const Value x = std::move(given);
  Parameter* const w = weight(op, "factors");
  const Pointwise s{
      .kind = PointwiseKind::activate, .rows = mul(x.rows, heads), .width = x.width / heads, .weights = w->elements()};
  Value y = make(op, x.rows, x.width);
  forward(op, s, [&] { backend_.altup()->scale(s, x.data->data(), value(w), y.data->data()); });
  if (taping())
    remember(op, s, [this, op, s, w, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot] {
      const Tensor dy = taken(out), x_data = saved.get();
      backend_.altup()->scale_gradient(s, x_data->data(), value(w), dy->data(), place(op, in, n), sum(w));
    });
  return y;
}

}  // namespace llmcalc::model
