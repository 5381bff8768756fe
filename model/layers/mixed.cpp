// Mixes of residual streams: the current one, x, and the saved ones, one per block of layers.

#include "model/layers/mixed.hpp"

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// Number of streams saved before a mix in the current layer; more may exist when the layer is recomputed.
Count Pass::saved_before(bool is_first) const {
  if (layer_ < 0) return static_cast<Count>(saved_.size());
  const Count n = arch_.residual_block;
  return is_first ? ceil_div(layer_, n) : layer_ / n + 1;
}

bool Pass::begins_block() const {
  return arch_.residual_block > 0 && layer_ >= 0 && layer_ % arch_.residual_block == 0;
}

/// Saves the stream unless it is already saved, as in a recomputed layer.
void Pass::save_stream(const Value& x) {
  if (static_cast<Count>(saved_.size()) == layer_ / arch_.residual_block) saved_.push_back(x);
}

/// Mixes x and the saved streams: all rows, or one token per sequence if the head reads only one.
Value Pass::mix(std::string_view op, Value given, bool is_first) {
  const Value x = std::move(given);
  const auto n = static_cast<std::size_t>(saved_before(is_first));
  std::vector<Value> all(saved_.begin(), saved_.begin() + static_cast<std::ptrdiff_t>(n));
  all.push_back(x);
  const bool last = looked_at_ && x.rows != step_.sequences;
  Parameter *const query = weight(op, "query"), *const scale = weight(op, "norm");
  const Pointwise s{.kind = PointwiseKind::mix,
                    .rows = last ? step_.sequences : x.rows,
                    .width = x.width,
                    .top_k = static_cast<Count>(all.size()),
                    .weights = query->elements() + scale->elements()};
  const Bytes before = (last ? *looked_at_ * x.width : 0) * backend_.number();
  const Count stride = last ? mul(step_.queries, x.width) : x.width;
  const auto view = [this, query, scale, stride](const std::vector<const void*>& at) {
    return MixView{at, stride, value(query), value(scale), numerics().norm_epsilon};
  };
  std::vector<const void*> at;
  for (const Value& v : all) at.push_back(static_cast<const std::byte*>(v.data->data()) + before.value);
  Value y = make(op, s.rows, s.width);
  forward(op, s, [&] { backend_.mix(s, view(at), y.data->data()); });
  if (taping())
    remember_mix(op, s, std::move(all), view, y.slot);
  else if (layer_ < 0)
    saved_.clear();
  return y;
}

/// In backward, streams saved after this mix are freed first.
void Pass::remember_mix(std::string_view op, const Pointwise& s, std::vector<Value> all, const ViewOfMix& view,
                        const std::shared_ptr<TapeSlot>& y) {
  keep(op, all.back());
  remember(op, s, [this, op, s, view, all = std::move(all), out = y] {
    saved_.resize(std::min(saved_.size(), all.size() - 1));
    const Tensor dy = taken(out);
    std::vector<const void*> at;
    std::vector<GradientPlace> places;
    for (const Value& v : all) {
      at.push_back(v.data->data());
      places.push_back(place(op, v.slot, v.elements()));
    }
    backend_.mix_gradient(s, view(at), dy->data(), {places, sum(weight(op, "query")), sum(weight(op, "norm"))});
  });
}

}  // namespace llmcalc::model
