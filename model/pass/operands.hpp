#pragma once
/// Operands of an operator that saves all of them, and the destinations of their gradients.

#include "model/pass/pass.hpp"

namespace llmcalc::model {

template <std::size_t n>
struct Pass::Operands {
  std::array<Saved, n> saved;
  std::array<std::shared_ptr<TapeSlot>, n> slots;
  std::array<Count, n> elements;
  std::array<Tensor, n> data() const {
    std::array<Tensor, n> all;
    for (std::size_t i = 0; i < n; ++i) all[i] = saved[i].get();
    return all;
  }
  std::array<GradientPlace, n> places(Pass& p, std::string_view op) const {
    std::array<GradientPlace, n> all;
    for (std::size_t i = 0; i < n; ++i) all[i] = p.place(op, slots[i], elements[i]);
    return all;
  }
};

template <std::size_t n>
Pass::Operands<n> Pass::operands(std::string_view op, const std::array<Value, n>& in) {
  Operands<n> all;
  for (std::size_t i = 0; i < n; ++i) {
    all.saved[i] = keep(op, in[i]);
    all.slots[i] = in[i].slot;
    all.elements[i] = in[i].elements();
  }
  return all;
}

}  // namespace llmcalc::model
