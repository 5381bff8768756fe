// Operators on multiple residual streams: the initial copies, the sum that a sub-layer reads, and the distribution of
// the sub-layer's result over the streams.

#include "model/pass/streams.hpp"

#include "model/pass/pass.hpp"

namespace llmcalc::model {

Value Pass::repeat(std::string_view op, Value given) {
  const Value x = std::move(given);
  const Count n = arch_.streams;
  const Pointwise s{.kind = PointwiseKind::repeat, .rows = x.rows, .width = mul(n, x.width), .top_k = n};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.repeat(s, x.data->data(), y.data->data()); });
  if (flows(op, {&x}, y))
    remember(op, s, [this, op, s, in = x.slot, n = x.elements(), out = y.slot] {
      const Tensor dy = taken(out);
      const Into dx = into(op, in, n);
      backend_.repeat_gradient(s, dy->data(), dx.data, dx.add);
    });
  return y;
}

/// If x has more rows than `weights`, which has n, row i of `weights` belongs to the last token of the i-th of n
/// equal parts of x.
StreamView Pass::streams_of(std::string_view gather_op, const Value& x, const Tensor& x_data, const Value& weights,
                            const Tensor& weight_data) const {
  const Count apart = x.rows / weights.rows;
  const auto* first = static_cast<const std::byte*>(x_data->data()) + ((apart - 1) * x.width * backend_.number()).value;
  return {.x = first,
          .x_stride = apart * x.width,
          .weights = weight_data->data(),
          .columns = weights.width,
          .scales = value(weight(gather_op, "scales")),
          .bias = value(weight(gather_op, "bias")),
          .epsilon = numerics().norm_epsilon};
}

Value Pass::gather(std::string_view op, const Value& x, const Value& weights) {
  const Count n = arch_.streams;
  Parameter *const scales = weight(op, "scales"), *const bias = weight(op, "bias");
  const Pointwise s{.kind = PointwiseKind::gather,
                    .rows = weights.rows,
                    .width = x.width / n,
                    .top_k = n,
                    .weights = scales->elements() + bias->elements()};
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.gather(s, streams_of(op, x, x.data, weights, weights.data), y.data->data()); });
  if (flows(op, {&x, &weights}, y))
    remember(op, s,
             [this, op, s, x = bare(x), w = bare(weights), x_saved = keep(op, x), w_saved = keep(op, weights), scales,
              bias, out = y.slot] {
               const Tensor dy = taken(out), x_data = x_saved.get(), w_data = w_saved.get();
               const Into dw = into(op, w.slot, w.elements()), dx = into(op, x.slot, x.elements());
               backend_.gather_gradient(s, streams_of(op, x, x_data, w, w_data), dy->data(),
                                        {.x = dx.data,
                                         .add_x = dx.add,
                                         .weights = dw.data,
                                         .add_weights = dw.add,
                                         .scales = sum(scales),
                                         .bias = sum(bias)});
             });
  return y;
}

Value Pass::spread(std::string_view op, std::string_view gather_op, Value given, Value given_result,
                   Value given_weights) {
  const Value x = std::move(given), y = std::move(given_result), weights = std::move(given_weights);
  const Pointwise s{.kind = PointwiseKind::spread, .rows = x.rows, .width = x.width, .top_k = arch_.streams};
  Value z = make(op, s.rows, s.width);
  forward(op, s, [&] {
    backend_.spread(s, streams_of(gather_op, x, x.data, weights, weights.data), y.data->data(), z.data->data());
  });
  if (flows(op, {&x, &y, &weights}, z))
    remember(op, s,
             [this, op, gather_op, s, x = bare(x), w = bare(weights), y_slot = y.slot, n = y.elements(),
              x_saved = keep(op, x), y_saved = keep(op, y), w_saved = keep(op, weights), out = z.slot] {
               const Tensor dz = taken(out), x_data = x_saved.get(), y_data = y_saved.get(), w_data = w_saved.get();
               const Into dw = into(op, w.slot, w.elements()), dy = into(op, y_slot, n),
                          dx = into(op, x.slot, x.elements());
               backend_.spread_gradient(s, streams_of(gather_op, x, x_data, w, w_data), y_data->data(), dz->data(),
                                        {.x = dx.data,
                                         .add_x = dx.add,
                                         .weights = dw.data,
                                         .add_weights = dw.add,
                                         .result = dy.data,
                                         .add_result = dy.add,
                                         .scales = sum(weight(gather_op, "scales")),
                                         .bias = sum(weight(gather_op, "bias"))});
             });
  return z;
}

}  // namespace llmcalc::model
