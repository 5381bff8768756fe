#include "presets/formats/held_formats.hpp"

#include "calc/memory.hpp"

namespace llmcalc {

namespace {

template <typename Visit>
void for_each_component(const Visit& visit) {
  for (std::size_t i = 0; i < component_count; ++i) visit(static_cast<Component>(i));
}

std::size_t row_of(DType t) {
  std::size_t row = 0;
  while (DType(row) != t) ++row;
  return row;
}

/// The most common format, by number of elements; absent if there are no elements.
std::optional<DType> most_of(const std::map<std::size_t, Count>& numbers) {
  std::optional<DType> best;
  Count most = 0;
  for (const auto& [row, n] : numbers)
    if (n > most) {
      most = n;
      best = DType(row);
    }
  return best;
}

}  // namespace

ComponentBytes component_bytes(const Arch& arch, const WeightFormats& weights, Owner owner) {
  Plan p;
  p.weight_precision = weights;
  p.mtp = owner == Owner::modules ? arch.mtp.modules : 0;
  return price_holdings(arch, p, {}).weights_of(owner);
}

ComponentBytes held_bytes(const Arch& arch, const WeightFormats& weights, Owner owner) {
  ComponentBytes all = component_bytes(arch, weights, owner);
  for_each_component([&](Component c) { all[c] = weights.held(c, all[c], owner); });
  return all;
}

void HeldComponents::add_numbers(Component c, DType t, Count n) {
  Count& all = (*this)[c].numbers[row_of(t)];
  all = add(all, n);
}

WeightFormats most_common_formats(const HeldComponents& all, const Arch& arch) {
  std::map<std::size_t, Count> components;
  for_each_component([&](Component c) {
    if (const auto t = most_of(all[c].numbers)) ++components[row_of(*t)];
  });
  WeightFormats w = most_of(components).value_or(dtypes::bf16);
  for_each_component([&](Component c) { w[c] = most_of(all[c].numbers).value_or(w[c]); });
  if (arch.tied_head) w[Component::lm_head] = w[Component::embedding];
  return w;
}

void hold_bytes(WeightFormats& weights, const Arch& arch, const HeldComponents& all, Owner owner) {
  const ComponentBytes alone = component_bytes(arch, weights, owner);
  const auto differs = [&](Component c) { return all[c].bytes != alone[c]; };
  WeightFormats marked = weights;
  for_each_component([&](Component c) {
    if (differs(c)) marked.hold(c, {Bytes(1), {}}, owner);
  });
  const ComponentBytes nominal = component_bytes(arch, marked, owner);
  for_each_component([&](Component c) {
    if (differs(c)) weights.hold(c, {all[c].bytes, nominal[c]}, owner);
  });
}

void hold_modules_alike(WeightFormats& weights, const Arch& arch) {
  if (arch.mtp.modules == 0) return;
  for_each_component([&](Component c) {
    if (const HeldBytes& of_model = weights.held_of(c); of_model.nominal > Bytes())
      weights.hold(c, of_model, Owner::modules);
  });
}

ComponentBytes component_numbers(const Arch& arch, Owner owner) { return component_bytes(arch, dtypes::fp8, owner); }

}  // namespace llmcalc
