// Keys and values, or only RWKV-7's values, that a layer shares with later layers (calc/arch/cross_layer.hpp).

#include "model/pass/forward.hpp"

namespace llmcalc::model {

void Pass::share_onward(const Value& k, const Value& v) {
  if (direction_ == Direction::recompute) {  // the first run shared its values; their gradients now exist
    auto& [keys, values] = awaited_.at(layer_);
    if (k.slot) k.slot->gradient = std::exchange(keys->gradient, nullptr);
    v.slot->gradient = std::exchange(values->gradient, nullptr);
    return;
  }
  cross_layer_[layer_] = {k, v};
  if (!step_.training) return;
  awaited_[layer_] = {k.slot, v.slot};
  if (!recomputes(plan(), layer_ / halves(arch_))) return;
  if (k.data) k.data->claim("block.input");
  v.data->claim("block.input");
}

KeysAndValues Pass::shared_kv() const {
  const auto it = cross_layer_.find(kv_source(kinds_, layer_));
  return it == cross_layer_.end() ? KeysAndValues() : it->second;
}

void Pass::leave(const KeysAndValues& read) {
  for (const CrossLayerTensor& h : handing_)
    if (h.last_reader == layer_) cross_layer_.erase(h.source);
  if (!taping() && layer_ + 1 == arch_.layers) layer_inputs_ = {};
  if (!taping() || !read.v.data) return;
  tape_->remember([this, k = read.k.slot, v = read.v.slot, keys = read.k.elements(), values = read.v.elements()] {
    if (k) into_rows("attn.core", k, keys, true);
    into_rows("attn.core", v, values, true);
  });
}

}  // namespace llmcalc::model
