// Parts of a model that are not trained (Plan::frozen). As in automatic differentiation, a result requires a gradient
// if it depends on a trained parameter.

#include <algorithm>

#include "model/pass/forward.hpp"

namespace llmcalc::model {

bool trains_in_part(const Arch& a) {
  bool shifts = a.mlp_shift;
  for (std::size_t i = 0; i <= a.mixers.size(); ++i)
    shifts = shifts || a.mixer(i).recurrent.kind == RecurrentKind::rwkv7 ||
             a.mixer(i).recurrent.kind == RecurrentKind::rwkv6;
  return recomputes_in_groups(a) && !shifts && !a.altup && !a.output_scale;
}

void* Pass::nowhere(Bytes bytes) {
  void* const data = unasked_.emplace_back(backend_).of(bytes);
  backend_.zero(data, bytes);
  return data;
}

void* Pass::sum(Parameter* p) {
  const bool is_summed_there = p == nullptr || (p->gradient && !weights_.rounds_gradients());
  if (is_summed_there) return weights_.sum(p);
  void* const apart = nowhere(p->elements() * backend_.wide());
  if (p->gradient) rounded_.emplace_back(p, apart);
  return apart;
}

Pass::Into Pass::matrix_sum(Parameter* p) {
  if (!p->gradient) return {nullptr, false};
  if (weights_.rounds_gradients()) return {sum(p), true};
  return {p->gradient->data(), !std::exchange(p->blank, false)};
}

void Pass::end_rule() {
  for (const auto& [p, more] : rounded_) weights_.add_gradient(*p, more);
  rounded_.clear();
  unasked_.clear();
}

bool Pass::trains(std::string_view op) const {
  if (weights_.has(layer_, op)) return weights_.trains(layer_, op);
  if (op == "head.logits" || op == "mtp.tokens") return weights_.trains(-1, "embedding.tokens");
  return in_module() && weights_.trains(-1, op);
}

bool Pass::has_backward(std::string_view op, std::initializer_list<const Value*> in) const {
  const bool asked = !trains_part(plan()) ||
                     std::any_of(in.begin(), in.end(), [](const Value* x) { return x->slot && x->slot->asks; });
  return asked || trains(op);
}

bool Pass::flows(std::string_view op, std::initializer_list<const Value*> in, const Value& y) const {
  y.slot->asks = has_backward(op, in);
  return taping() && y.slot->asks;
}

bool Pass::flows(std::string_view op, const std::vector<Value>& in, const Value& y) const {
  const auto asking = std::find_if(in.begin(), in.end(), [](const Value& x) { return x.slot && x.slot->asks; });
  return asking == in.end() ? flows(op, {}, y) : flows(op, {&*asking}, y);
}

bool Pass::flows_from(const Parameter& table, const Value& y) {
  const bool trained = !taping() || table.gradient;
  y.slot->asks = trained || trains_adapters(plan());
  if (taping() && !trained) tape_->remember([slot = y.slot] { slot->gradient = nullptr; });
  return taping() && trained;
}

}  // namespace llmcalc::model
