#include "presets/layer_pattern.hpp"

#include <fmt/format.h>

#include <optional>

namespace llmcalc {

namespace {

/// Reads {"from": first, "every": step}: layers first, first + step, ... up to the last.
LayerSet read_steps(const json::Object& o, Count layers) {
  const Count first = o.count("from");
  const Count step = o.positive("every");
  o.refuse_unread();
  if (first >= layers)
    throw InputError(fmt::format("{}: \"from\" is {}, but the model's layers are 0 to {}; set one of them", o.where(),
                                 first, layers - 1));
  LayerSet set;
  for (Count i = first; i < layers; i += std::min(step, layers)) set.insert(i);
  return set;
}

LayerSet complement(const LayerSet& set, Count layers) {
  LayerSet out;
  for (Count i = 0; i < layers; ++i)
    if (!set.contains(i)) out.insert(i);
  return out;
}

LayerSet read_list(const json::Value& list, Count layers, const std::string& where) {
  LayerSet set;
  for (const json::Value& v : list) {
    if (!v.is_number_integer() || v < 0 || v >= layers)
      throw InputError(fmt::format("{}: expected layers from 0 to {}, got {}", where, layers - 1, v.dump()));
    const Count layer = v.get<Count>();
    if (set.contains(layer)) throw InputError(fmt::format("{}: layer {} is listed twice; list it once", where, layer));
    set.insert(layer);
  }
  return set;
}

LayerSet read_any(const json::Value& pattern, Count layers, const std::string& where) {
  if (pattern == "all") return LayerSet::all(layers);
  if (pattern.is_array()) return read_list(pattern, layers, where);
  if (!pattern.is_object())
    throw InputError(
        fmt::format("{}: expected \"all\", {{\"from\": 0, \"every\": 2}}, {{\"except\": ...}} or a list of "
                    "layers, got {}",
                    where, pattern.dump()));
  const json::Object o(pattern, where);
  if (!o.has("except")) return read_steps(o, layers);
  const LayerSet left_out = read_steps(o.object("except"), layers);
  o.refuse_unread();
  return complement(left_out, layers);
}

/// The set as {"from": first, "every": step}; absent if it does not have this form.
std::optional<json::Value> steps_json(const LayerSet& set, Count layers) {
  Count first = 0;
  while (first < layers && !set.contains(first)) ++first;
  for (Count step = 1; step <= layers; ++step)
    if (set == LayerSet::every(first, step, layers)) return json::Value{{"from", first}, {"every", step}};
  return std::nullopt;
}

}  // namespace

json::Expected layer_pattern_schema() {
  const json::Value layer{{"type", "integer"}, {"minimum", 0}};
  const json::Value steps{{"type", "object"},
                          {"properties", {{"from", layer}, {"every", {{"type", "integer"}, {"minimum", 1}}}}},
                          {"required", {"from", "every"}},
                          {"additionalProperties", false}};
  const json::Value except{{"type", "object"},
                           {"properties", {{"except", steps}}},
                           {"required", json::Value::array({"except"})},
                           {"additionalProperties", false}};
  return {{{"anyOf", {{{"const", "all"}}, {{"type", "array"}, {"items", layer}}, steps, except}}},
          json::Value::array({"all"})};
}

LayerSet read_layer_pattern(const json::Value& pattern, Count layers, const std::string& where) {
  const LayerSet set = read_any(pattern, layers, where);
  if (set.empty()) throw InputError(where + " contains no layer; omit the whole block instead");
  return set;
}

json::Value layer_pattern_json(const LayerSet& set, Count layers) {
  if (set == LayerSet::all(layers)) return "all";
  json::Value list = json::Value::array();
  for (Count i = 0; i < layers; ++i)
    if (set.contains(i)) list.push_back(i);
  if (list.size() <= 2) return list;
  if (const auto steps = steps_json(set, layers)) return *steps;
  if (const auto steps = steps_json(complement(set, layers), layers)) return json::Value{{"except", *steps}};
  return list;
}

}  // namespace llmcalc
