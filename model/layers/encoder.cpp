// Encoder-only operators: segments, the pooler's activation, and a loss over outputs other than logits.

#include "model/pass/pass.hpp"

namespace llmcalc::model {

Value Pass::segments(std::string_view op) {
  Parameter& table = weights_.at(layer_, std::string(op) + ".weight");
  const Lookup s{step_.tokens(), table.shape.out, table.shape.in};
  if (segments_.empty())
    for (Count t = 0; t < s.tokens; ++t) segments_.push_back(t % step_.queries * s.rows / step_.queries);
  Value y = make(op, s.tokens, s.width);
  forward(op, s, [&] { look_up(op, s, {segments_.data()}, positions(), table, y); });
  if (flows_from(table, y))
    remember(op, s, [this, s, at = positions(), &table, out = y.slot] {
      const Tensor dy = taken(out);
      backend_.lookup_gradient(s, {segments_.data()}, at, dy->data(), sum(&table));
    });
  return y;
}

Value Pass::tanh(std::string_view op, Value given) {
  const Value x = std::move(given);
  const Pointwise s{.kind = PointwiseKind::activate, .rows = x.rows, .width = x.width};
  Value y = make(op, x.rows, x.width);
  forward(op, s, [&] { backend_.tanh(s, x.data->data(), y.data->data()); });
  if (flows(op, {&x}, y))
    remember(op, s, [this, op, s, saved = keep(op, x), in = x.slot, out = y.slot, n = x.elements()] {
      const Tensor dy = taken(out), x_data = saved.get();
      const Into dx = into(op, in, n);
      backend_.tanh_gradient(s, x_data->data(), dy->data(), dx.data, dx.add);
    });
  return y;
}

// ---- the mean of n values: each has the gradient 1 / n

std::vector<double> Pass::mean_gradient(Count n) const {
  return std::vector<double>(static_cast<std::size_t>(n), loss_scale_ / static_cast<double>(n));
}

void Pass::mean(const Value& y, double* to) {
  backend_.zero(to, Bytes(sizeof(double)));
  backend_.add_mean(y.elements(), y.data->data(), to);
  if (taping() && y.slot->asks)
    tape_->remember([this, slot = y.slot, n = y.elements()] {
      backend_.write(into("head.loss", slot, n).data, mean_gradient(n), false);
    });
}

/// Overwrites the result with its gradient in backward, as with logits.
void Pass::judge(std::string_view op, const Value& y) {
  if (!step_.training) return;
  judged_.push_back(y);
  if (!taping() || !y.slot->asks) return;
  y.data->claim(op);
  tape_->remember([this, y_data = y.data, slot = y.slot, n = y.elements()] {
    backend_.write(y_data->data(), mean_gradient(n), false);
    slot->gradient = y_data;
  });
}

}  // namespace llmcalc::model
