#include "report/schema/request_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/commands/asked.hpp"
#include "report/compare.hpp"
#include "report/question.hpp"
#include "report/schema/schema_head.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using json::Value;

/// Forms of option values that are quantities: numbers in base units, or text with units.
constexpr std::array quantities{"N", "X", "R",    "P",    "S",    "W",     "H",      "K",     "C",      "D",
                                "M", "T", "SIZE", "TIME", "RATE", "SPEED", "FACTOR", "USD/h", "KG/KWH", "B/S"};

bool is_choice(std::string_view form) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-+_|";
  return form.find('|') != form.npos && form.find_first_not_of(letters) == form.npos && std::isdigit(form[0]) == 0;
}

Value value_schema(const Option& o) {
  if (o.value.empty()) return {{"type", "boolean"}};
  if (o.has_optional_value() || o.value == "on|off") return {{"type", {"boolean", "string"}}};
  if (is_choice(o.value)) return {{"enum", split_at_bars(o.value)}};
  if (std::find(quantities.begin(), quantities.end(), o.value) != quantities.end())
    return {{"type", {"number", "string"}}};
  if (o.value == "F") return {{"type", {"string", "object"}}, {"additionalProperties", {{"type", "string"}}}};
  if (o.value.find("N,N") != o.value.npos) return {{"type", {"string", "array"}}, {"items", {{"type", "integer"}}}};
  return {{"type", {"string", "number"}}};
}

Value option_schema(const Option& o) {
  Value v = value_schema(o);
  const bool shows_form = !o.value.empty() && !v.contains("enum");
  v["description"] = shows_form ? fmt::format("{}: {}", o.value, o.help) : std::string(o.help);
  return v;
}

bool is_model(const Word& w) { return w.name == "MODEL" || w.name == "CONFIG"; }

Value model_schema(std::string_view meaning) {
  return {
      {"type", {"string", "object"}},
      {"description", fmt::format("{}; as text a preset's name, as an object a config.json or a model file", meaning)}};
}

Value hardware_schema() {
  return {{"type", {"string", "object"}},
          {"description", "a preset's name, or a hardware file; searches also take several names, or \"any\""}};
}

/// Integers above 2^53 may be accompanied by their digits, and options that only one command has by their unit.
Value patterns_of(const Command& c) {
  Value all{{"_text$", {{"type", "string"}}}};
  for (const Option& o : c.own)
    if (!o.value.empty() && !takes_file(o)) all[fmt::format("^{}_", o.key())] = scalar();
  return all;
}

void add_words(Value& inputs, const Command& c) {
  for (const Word& w : c.words) {
    if (is_model(w)) continue;
    inputs["properties"][w.request_key()] = {{"type", "string"}, {"description", w.help}};
    if (w.required) inputs["required"].push_back(w.request_key());
  }
}

Value inputs_schema(const Command& c) {
  Value inputs{{"type", "object"}, {"additionalProperties", false}, {"properties", Value::object()}};
  add_words(inputs, c);
  for (const Option* o : options_of(c))
    if (!takes_file(*o) && o->parts != part::help && o->parts != part::pictures && o->flag != "--hardware")
      inputs["properties"][o->key()] = option_schema(*o);
  inputs["patternProperties"] = patterns_of(c);
  return inputs;
}

bool needs_hardware(const Command& c) {
  const Question* q = find_question(c.name);
  return q == nullptr ? c.name.starts_with("plan ") : q->needs_hardware;
}

/// The form of the answer.
Value style_schema() {
  return {{"enum", {"json", "text", "markdown", "html"}}, {"description", "form of the answer [json]"}};
}

Value form_of(const Command& c) {
  Value form = arguments_schema(c);
  Value properties{{"command", {{"const", c.name}}}, {"style", style_schema()}};
  properties.update(form["properties"]);
  form["properties"] = properties;
  form["required"].insert(form["required"].begin(), "command");
  return form;
}

}  // namespace

std::vector<Command> requested_commands() {
  std::vector<Command> all = asked_commands();
  std::erase_if(all, [](const Command& c) { return c.name == compare_name; });
  return all;
}

Value arguments_schema(const Command& c) {
  Value schema{{"type", "object"}, {"additionalProperties", false}, {"properties", Value::object()}};
  schema["required"] = Value::array();
  for (const Word& w : c.words)
    if (is_model(w)) {
      schema["properties"]["model"] = model_schema(w.help);
      if (w.required) schema["required"].push_back("model");
    }
  if (option_of(c, "--hardware") != nullptr) schema["properties"]["hardware"] = hardware_schema();
  if (needs_hardware(c)) schema["required"].push_back("hardware");
  schema["properties"]["inputs"] = inputs_schema(c);
  if (schema["properties"]["inputs"].contains("required")) schema["required"].push_back("inputs");
  return schema;
}

Value sides_schema(const Value& side) {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties",
           {{"sides", {{"type", "array"}, {"description", "requests to compare"}, {"minItems", 2}, {"items", side}}}}},
          {"required", {"sides"}}};
}

Value request_schema() {
  Value schema = schema_head("request", "llmcalc request");
  schema["type"] = "object";
  for (const Command& c : requested_commands()) schema["anyOf"].push_back(form_of(c));
  Value sides = sides_schema({{"$ref", "#"}});
  sides["properties"]["command"] = {{"const", compare_name}};
  sides["properties"]["style"] = style_schema();
  sides["required"].push_back("command");
  schema["anyOf"].push_back(std::move(sides));
  return schema;
}

}  // namespace llmcalc
