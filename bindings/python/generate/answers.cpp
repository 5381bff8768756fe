#include "bindings/python/generate/answers.hpp"

#include <fmt/format.h>

#include "bindings/python/generate/python_text.hpp"
#include "report/schema/report_schema.hpp"

namespace llmcalc::python {
namespace {

bool is_identifier(std::string_view key) {
  return !key.empty() && (key[0] < '0' || key[0] > '9') &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string_view::npos;
}

/// "StepBreakdownS" for the path "step.breakdown_s".
std::string class_name(std::string_view path) {
  std::string name;
  bool upper = true;
  for (const char c : path) {
    const bool separates = c == '.' || c == '_';
    if (!separates) name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = separates;
  }
  return name;
}

std::string scalar_type(const json::Value& schema) {
  const auto type = schema.find("type");
  if (type == schema.end() || !type->is_string()) return schema.contains("enum") ? "str" : "Any";
  const std::string name = type->get<std::string>();
  if (name == "integer") return "int";
  if (name == "number") return "float";
  if (name == "boolean") return "bool";
  if (name == "string") return "str";
  return name == "array" ? "List[Any]" : "Section";
}

std::string class_of(const json::Value& schema, const std::string& path, std::string& earlier);

/// The attributes of an object; appends the classes of its objects to `earlier`.
std::string attributes(const json::Value& properties, const std::string& path, std::string& earlier) {
  std::string text;
  for (const auto& [key, schema] : properties.items()) {
    if (!is_identifier(key)) continue;
    const std::string inner = path.empty() ? key : path + "." + key;
    const std::string type = schema.contains("properties") ? class_of(schema, inner, earlier) : scalar_type(schema);
    text += fmt::format("    {}: {}\n", python_name(key), type);
    const auto meaning = schema.find("description");
    if (meaning != schema.end() && meaning->is_string()) text += docstring(meaning->get<std::string>(), 4);
  }
  return text.empty() ? "    ...\n" : text;
}

std::string class_of(const json::Value& schema, const std::string& path, std::string& earlier) {
  const std::string name = class_name(path);
  const std::string body = attributes(schema["properties"], path, earlier);
  earlier += fmt::format("class {}(Section):\n{}\n", name, body);
  return name;
}

}  // namespace

std::string answer_stubs() {
  std::string earlier;
  const std::string body = attributes(report_json_schema()["properties"], "", earlier);
  return earlier + "class Answer(_Answer):\n" + body + "\n";
}

}  // namespace llmcalc::python
