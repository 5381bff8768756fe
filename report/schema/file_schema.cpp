#include "report/schema/file_schema.hpp"

#include <algorithm>
#include <array>

#include "presets/hardware_file.hpp"
#include "presets/model_file.hpp"
#include "presets/software_file.hpp"
#include "report/schema/measurement_schema.hpp"
#include "report/schema/schema_head.hpp"
#include "text/json_schema.hpp"

namespace llmcalc {
namespace {

using json::Value;

/// The schema of objects with some of the keys, any of them null: a difference to be merged.
Value partial(Value schema) {
  if (!schema.is_structured()) return schema;
  for (Value& part : schema) part = partial(part);
  if (!schema.is_object() || !schema.contains("properties") || !schema["properties"].is_object()) return schema;
  schema.erase("required");
  for (Value& part : schema["properties"]) part = {{"anyOf", {part, {{"type", "null"}}}}};
  return schema;
}

void add_choices(Value& to, const Value& more) {
  for (const Value& choice : more)
    if (std::find(to.begin(), to.end(), choice) == to.end()) to.push_back(choice);
}

/// An object with the keys of all variants.
Value merged(const Value& schema) {
  Value all{{"type", "object"}, {"properties", Value::object()}, {"additionalProperties", false}};
  for (const Value& variant : schema["oneOf"])
    for (const auto& [key, part] : variant["properties"].items())
      if (Value& known = all["properties"][key]; known.is_null())
        known = part;
      else if (known.contains("enum"))
        add_choices(known["enum"], part["enum"]);
  return all;
}

/// Software files: a whole one, or one with a parent; either with versions (presets/load.hpp merges them). An entry of
/// "versions" has the keys that differ from the entry before it.
Value software_form() {
  const Value text{{"type", "string"}};
  const Value whole = json::schema_of([](const Value& v, const std::string& where) { read_software_file(v, where); });
  Value file = partial(merged(whole)), version = file;
  version["properties"].update({{"version", text}, {"released", text}});
  version["required"] = {"version"};
  file["properties"]["parent"] = text;
  file["properties"]["versions"] = {{"type", "array"}, {"minItems", 1}, {"items", version}};
  file["required"] = {"name"};
  return file;
}

Value measurement_form() { return json::parse(measurement_schema_text(), "docs/measurement.schema.json"); }

struct FileKind {
  std::string_view name;
  Value (*form)();
};
constexpr std::array kinds{
    FileKind{"model",
             [] { return json::schema_of([](const Value& v, const std::string& w) { read_model_file(v, w); }); }},
    FileKind{"hardware",
             [] { return json::schema_of([](const Value& v, const std::string& w) { read_hardware_file(v, w); }); }},
    FileKind{"software", software_form}, FileKind{"measurement", measurement_form}};

}  // namespace

std::span<const std::string_view> file_schema_names() {
  static constexpr auto all = [] {
    std::array<std::string_view, kinds.size()> names;
    std::transform(kinds.begin(), kinds.end(), names.begin(), [](const FileKind& k) { return k.name; });
    return names;
  }();
  return all;
}

Value file_form(std::string_view kind) {
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](const FileKind& k) { return k.name == kind; });
  if (found != kinds.end()) return found->form();
  if (kind == "row")  // of a sweep: a value or no value per column
    return {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean", "null"}}}}};
  return {{"type", "object"}};
}

}  // namespace llmcalc
