// Operators with a state per sequence: convolutions along the tokens, and recurrences. Backward needs only their inputs
// and recomputes the states.

#include "calc/cost/cost.hpp"
#include "model/pass/pass.hpp"

namespace llmcalc::model {
/// State of this operator in the current layer's cache; null without a cache.
void* Pass::cached_state(std::string_view op) const {
  return cache_ != nullptr ? cache_->layer(layer_).states.at(op)->data() : nullptr;
}

Value Pass::convolve(std::string_view op, Value given, Convolution s) {
  const Value x = std::move(given);
  Parameter *w = weight(op, "weight"), *b = weight(op, "bias");
  s.bias = b != nullptr;
  ConvolutionView v{
      .x = x.data->data(), .weight = value(w), .bias = value(b), .state = cached_state(op), .begins = step_.past == 0};
  Value y = make(op, x.rows, x.width);
  forward(op, s, [&] { backend_.convolve(s, v, y.data->data()); });
  if (flows(op, {&x}, y))
    remember(op, s, [this, op, s, v, saved = keep(op, x), in = x.slot, n = x.elements(), out = y.slot, w, b]() mutable {
      const Tensor dy = taken(out), x_data = saved.get();
      const Into dx = into(op, in, n);
      v.x = x_data->data();
      v.weight = value(w);
      v.bias = value(b);
      backend_.convolve_gradient(s, v, dy->data(), dx.data, dx.add, sum(w), sum(b));
    });
  return y;
}

StateView Pass::state_view(std::string_view op, const StateLayout& l, const std::vector<Tensor>& data) const {
  // Lightning attention's slopes decrease with depth (hf minimax/modeling_minimax.py, get_slope_rate).
  const double share = static_cast<double>(layer_) / (static_cast<double>(arch_.layers - 1) + 1e-5);
  return {.kind = l.kind,
          .q = view(l.q, data),
          .k = view(l.k, data),
          .v = view(l.v, data),
          .decay = view(l.decay, data),
          .beta = view(l.beta, data),
          .removed = view(l.removed, data),
          .log_decay = value(weight(op, "log_decay")),
          .step_bias = value(weight(op, "step_bias")),
          .skip = value(weight(op, "skip")),
          .input_bias = value(weight(op, "input_bias")),
          .bonus = value(weight(op, "bonus")),
          .slope = 1 - share + 1e-5};
}

Value Pass::recur(std::string_view op, const LinearAttention& shape, const StateLayout& l, std::vector<Value> given) {
  const std::vector<Value> in = std::move(given);
  LinearAttention s = shape;
  std::vector<Tensor> read;
  for (const Value& x : in) read.push_back(x.data);
  std::array<Parameter*, 5> learned{weight(op, "log_decay"), weight(op, "step_bias"), weight(op, "skip"),
                                    weight(op, "input_bias"), weight(op, "bonus")};
  s.weights = 0;
  for (const Parameter* p : learned) s.weights += p != nullptr ? p->elements() : 0;
  StateView v = state_view(op, l, read);
  v.state = cached_state(op);
  v.begins = step_.past == 0;
  Value y = make(op, s.rows(), mul(s.heads, s.head_dim));
  const bool back = flows(op, in, y);
  const Tensor normalizer = back && s.normalized ? own(op, mul(2, s.rows(), s.heads) * backend_.wide()) : nullptr;
  v.normalizer = data(normalizer);
  forward(op, s, [&] { backend_.recur(s, v, y.data->data()); });
  if (!back) return y;

  const Saved result = s.normalized ? keep(op, y) : Saved();
  std::vector<Tensor> held;
  std::vector<std::shared_ptr<TapeSlot>> slots;
  for (const Value& x : in) {
    held.push_back(keep(op, x).data);
    slots.push_back(x.slot);
  }
  remember(op, s, [this, op, s, l, held, slots, learned, normalizer, result, out = y.slot] {
    const Tensor dy = taken(out), y_data = result.get();
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      into_rows(op, slots[i], held[i]->bytes().value / backend_.number().value, true);
      gradients.push_back(slots[i]->gradient);
    }
    const StateView to = state_view(op, l, gradients);
    StateView from = state_view(op, l, held);
    from.normalizer = data(normalizer);
    from.out = data(y_data);
    backend_.recur_gradient(s, from, dy->data(),
                            {.q = to.q,
                             .k = to.k,
                             .v = to.v,
                             .decay = to.decay,
                             .beta = to.beta,
                             .removed = to.removed,
                             .log_decay = sum(learned[0]),
                             .step_bias = sum(learned[1]),
                             .skip = sum(learned[2]),
                             .input_bias = sum(learned[3]),
                             .bonus = sum(learned[4])});
  });
  return y;
}

}  // namespace llmcalc::model
