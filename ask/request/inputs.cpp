#include "ask/request/inputs.hpp"

#include <fmt/format.h>

#include "ask/request/options/options.hpp"
#include "presets/formats/held_formats.hpp"
#include "presets/formats/weight_formats.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool takes(const Request& r, const Option& o) { return r.has(o.parts) && o.field.read != nullptr; }

const Option& input_called(const Request& r, const std::string& key, const std::string& where) {
  std::vector<std::string> known;
  for (const Option& o : options()) {
    if (!takes(r, o)) continue;
    if (o.key() == key) return o;
    known.push_back(o.key());
  }
  throw InputError(fmt::format("{}: unknown input {}{}", where, in_quotes(key), suggestion(key, known)));
}

/// Whether the input sets an option that takes no value.
bool flag_value(const Option& o, const json::Value& v, const std::string& where) {
  if (!v.is_boolean()) throw InputError(fmt::format("{}, {}: expected true or false", where, in_quotes(o.key())));
  return v.get<bool>() != o.flag.starts_with("--no-");
}

/// Converts {"all": "bf16", "experts": "mxfp4"} to option syntax: "bf16,experts=mxfp4".
std::string parts_text(const json::Value& v) {
  std::string all;
  for (const auto& [part, format] : v.items()) {
    const std::string one = format.is_string() ? format.get<std::string>() : format.dump();
    all += (all.empty() ? "" : ",") + (part == "all" ? one : part + "=" + one);
  }
  return all;
}

std::string value_text(const Option& o, const json::Value& v, const std::string& where) {
  if (v.is_string()) return v.get<std::string>();
  const std::string_view unit = o.value == "TIME" ? "s" : "";  // JSON numbers are in base units
  if (v.is_number_float()) return fmt::format("{}{}", v.get<double>(), unit);
  if (v.is_number()) return v.dump() + std::string(unit);
  if (v.is_boolean()) return v.get<bool>() ? "on" : "off";
  if (v.is_object()) return parts_text(v);
  throw InputError(fmt::format("{}, {}: expected a number or a string", where, in_quotes(o.key())));
}

/// Numbers of layers per stage, joined by commas.
std::string list_text(const json::Value& v) {
  std::string all;
  for (const json::Value& one : v)
    all += (all.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
  return all;
}

}  // namespace

std::optional<std::string> input_text(const Option& o, const json::Value& v, const std::string& where) {
  if (o.value.empty() || (o.has_optional_value() && v.is_boolean()))
    return flag_value(o, v, where) ? std::optional<std::string>("") : std::nullopt;
  return v.is_array() ? list_text(v) : value_text(o, v, where);
}

json::Value present_components(json::Value stated, const Arch& arch) {
  if (!stated.is_object()) return stated;
  const ComponentBytes numbers = component_numbers(arch);
  for (std::size_t i = 0; i < component_count; ++i) {
    const auto component = static_cast<Component>(i);
    if (numbers[component] == Bytes()) stated.erase(std::string(component_name(component)));
  }
  return stated.size() == 1 && stated.contains("all") ? json::Value(stated["all"]) : stated;
}

void read_inputs(Request& r, const json::Value& inputs, const std::string& where) {
  if (!inputs.is_object()) throw InputError(fmt::format("{}: expected an object of options", where));
  for (const auto& [key, value] : inputs.items()) {
    const Option& o = input_called(r, key, where);
    if (const auto text = input_text(o, value, where)) give(r, o, *text);
  }
}

}  // namespace llmcalc
