#include "presets/stack/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/choice.hpp"
#include "text/error.hpp"
#include "text/json_schema.hpp"
#include "text/names.hpp"

namespace llmcalc {

template <>
inline constexpr auto choices<LaunchForm> = std::array{
    Choice{LaunchForm::command, "command"}, Choice{LaunchForm::toml, "toml"}, Choice{LaunchForm::yaml, "yaml"},
    Choice{LaunchForm::json, "json"}, Choice{LaunchForm::modelfile, "modelfile"}};

namespace {

LaunchForm read_form(const json::Object& o) {
  const std::string text = o.word("form", choice_names<LaunchForm>);
  if (const auto form = parse<LaunchForm>(text)) return *form;
  throw InputError(fmt::format("{}, \"form\": unknown form {}", o.where(), in_quotes(text)));
}

std::string read_spelling(const json::Value& v, const std::string& where) {
  if (v.is_string()) return v.get<std::string>();
  throw InputError(fmt::format("{}: expected the name of a setting", where));
}

std::vector<std::string> read_spellings(const json::Value& v, const std::string& where) {
  if (!v.is_array()) return {read_spelling(v, where)};
  std::vector<std::string> all;
  for (const json::Value& one : v) all.push_back(read_spelling(one, where));
  return all;
}

LaunchSettings read_settings(const json::Value& v) {
  LaunchSettings all;
  for (const auto& [name, value] : v.items()) all.push_back({name, value});
  return all;
}

LaunchSettings read_way(const json::Value& v, const LaunchRow& row, const std::string& where) {
  if (v.is_object()) return read_settings(v);
  if (row.names.empty()) throw InputError(fmt::format("{}: a plain value needs a \"setting\"", where));
  return {{row.names.front(), v}};
}

LaunchCase read_case(const std::string& input, const json::Value& v, const LaunchRow& row, const std::string& where) {
  LaunchCase c{input, {}};
  if (!v.is_array()) c.ways.push_back(read_way(v, row, where));
  if (v.is_array())
    for (const json::Value& way : v) c.ways.push_back(read_way(way, row, where));
  return c;
}

std::optional<std::string> optional_text(const json::Object& o, const char* key) {
  const json::Value* v = o.find(key);
  return v == nullptr ? std::nullopt : std::optional(setting_text(*v));
}

const json::Value one_object = json::Value::array({json::Value::object()});

const json::Value& spellings_schema() {
  static const json::Value text{{"type", "string"}};
  static const json::Value all{{"anyOf", {text, {{"type", "array"}, {"items", text}}}}};
  return all;
}

/// The schema of a row: the names of a setting, or the object at this place.
json::Value row_schema(const std::string& where) { return {{"anyOf", {spellings_schema(), json::schema_at(where)}}}; }

LaunchRow read_row(const std::string& key, const json::Value& v, const std::string& where) {
  LaunchRow row{.key = key, .names = {}, .cases = {}, .usual = {}, .absent = {}};
  if (!v.is_object()) {
    row.names = read_spellings(v, fmt::format("{}, {}", where, in_quotes(key)));
    return row;
  }
  const json::Object o(v, fmt::format("{}, {}", where, in_quotes(key)));
  o.expects("setting", [] { return json::Expected{spellings_schema(), json::Value::array({"x"})}; });
  if (const json::Value* names = o.find("setting")) row.names = read_spellings(*names, o.where());
  if (o.has("values"))
    for (const auto& [input, way] : o.object("values").value().items())
      row.cases.push_back(read_case(input, way, row, o.where()));
  row.usual = optional_text(o, "default");
  row.absent = optional_text(o, "absent");
  o.refuse_unread();
  return row;
}

std::vector<std::string> optional_texts(const json::Object& o, const char* key) {
  return o.has(key) ? o.texts(key) : std::vector<std::string>();
}

}  // namespace

const LaunchRow* Launch::row(std::string_view key) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const LaunchRow& r) { return r.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

Launch read_launch(const json::Object& o) {
  Launch all;
  all.form = read_form(o);
  all.starts = optional_texts(o, "start");
  o.expects("model", [&] { return json::Expected{row_schema(o.where() + ", \"model\""), one_object}; });
  o.expects("settings", [&] {
    const json::Value row = row_schema(o.where() + ", \"model\"");
    return json::Expected{{{"type", "object"}, {"additionalProperties", row}}, one_object};
  });
  if (const json::Value* model = o.find("model")) all.model = read_row("model", *model, o.where());
  for (const auto& [key, v] : o.object("settings").value().items()) all.rows.push_back(read_row(key, v, o.where()));
  if (o.has("fixed")) all.fixed = read_settings(o.object("fixed").value());
  if (o.has("also"))
    for (const auto& [also, setting] : o.object("also").value().items())
      all.also.emplace_back(also, read_spelling(setting, o.where()));
  all.script = optional_texts(o, "script");
  all.ignored = optional_texts(o, "ignored");
  all.ignored_values = optional_texts(o, "ignored_values");
  all.source = o.text("source");
  o.refuse_unread();
  return all;
}

std::string setting_text(const json::Value& v) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_boolean()) return v.get<bool>() ? "on" : "off";
  if (v.is_number_float()) return fmt::format("{}", v.get<double>());
  return v.dump();
}

}  // namespace llmcalc
