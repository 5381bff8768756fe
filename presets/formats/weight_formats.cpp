#include "presets/formats/weight_formats.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "text/names.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::pair<Component, std::string_view>, 8> names = {{{Component::attention, "attention"},
                                                                          {Component::mlp, "mlp"},
                                                                          {Component::router, "router"},
                                                                          {Component::experts, "experts"},
                                                                          {Component::shared_experts, "shared_experts"},
                                                                          {Component::norm, "norm"},
                                                                          {Component::embedding, "embedding"},
                                                                          {Component::lm_head, "lm_head"}}};

std::size_t components_in(const WeightFormats& weights, DType t) {
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [&](const auto& n) { return weights[n.first] == t; }));
}

DType most_common(const WeightFormats& weights) {
  DType best = weights[Component::norm];
  for (const auto& [component, name] : names)
    if (components_in(weights, weights[component]) > components_in(weights, best)) best = weights[component];
  return best;
}

}  // namespace

std::string_view component_name(Component c) {
  for (const auto& [component, name] : names)
    if (component == c) return name;
  return "position";
}

std::optional<Component> component_called(std::string_view name) {
  if (name == "head") return Component::lm_head;
  if (name == "norms") return Component::norm;
  for (const auto& [component, known] : names)
    if (known == name) return component;
  return std::nullopt;
}

std::string component_names() {
  std::string all;
  for (const auto& [component, name] : names) all += (all.empty() ? "" : "|") + std::string(name);
  return all;
}

DType format_called(const std::string& name, const std::string& where) {
  if (const auto t = dtype(lower(name))) return *t;
  throw InputError(
      fmt::format("{}: {} is not a number format; 'llmcalc list dtypes' shows them", where, in_quotes(name)));
}

WeightFormats read_weight_formats(const json::Object& o) {
  WeightFormats weights = format_called(o.text("all", "bf16"), o.where() + ", \"all\"");
  for (const auto& [component, name] : names)
    if (o.has(name))
      weights[component] = format_called(o.text(name, "bf16"), fmt::format("{}, \"{}\"", o.where(), name));
  weights[Component::position] = weights[Component::embedding];
  o.refuse_unread();
  return weights;
}

json::Value weight_formats_json(const WeightFormats& weights) {
  const DType all = most_common(weights);
  json::Value v = {{"all", all.name()}};
  for (const auto& [component, name] : names)
    if (weights[component] != all) v[std::string(name)] = weights[component].name();
  return v;
}

std::string weight_formats_text(const WeightFormats& weights) {
  const DType all = most_common(weights);
  std::string out;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    std::string listed;
    for (const auto& [component, name] : names)
      if (DType(i) != all && weights[component] == DType(i)) listed += (listed.empty() ? "" : ", ") + std::string(name);
    if (!listed.empty()) out += fmt::format("{} ({}), ", DType(i).name(), listed);
  }
  return out + std::string(all.name());
}

}  // namespace llmcalc
