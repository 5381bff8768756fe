#include "report/sweep/asked_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/inputs.hpp"
#include "report/commands/arguments.hpp"
#include "report/sweep/point_answers.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Values under one key, in the order of the points.
struct KeyValues {
  std::string key;
  std::vector<json::Value> values;
};

const Option* option_called(const Command& command, const std::string& key) {
  std::vector<std::string> known{"model"};
  for (const Option* o : options_of(command)) {
    if (o->key() == key) return o;
    known.push_back(o->key());
  }
  if (key == "model") return nullptr;
  throw InputError(
      fmt::format("{} is not an input of {}{}", in_quotes(key), in_quotes(command.name), suggestion(key, known)));
}

/// The values of a range: a list, or text such as "1..64x2".
std::vector<json::Value> values_of(const Option* option, const std::string& key, const json::Value& range) {
  if (range.is_array() && !range.empty()) return {range.begin(), range.end()};
  if (!range.is_string() || (option != nullptr && option->value.empty()))
    throw InputError(fmt::format("\"ranges\", {}: expected a list of at least one value{}", in_quotes(key),
                                 option != nullptr && option->value.empty() ? "" : ", or text such as \"1..64x2\""));
  const SweepAxis axis(option, range.get<std::string>());
  std::vector<json::Value> values;
  for (Count i = 0; i < std::min(axis.size(), most_points); ++i) values.push_back(axis.cell(i));
  return values;
}

std::vector<KeyValues> combined(const Command& command, const json::Value& ranges) {
  if (!ranges.is_object()) throw InputError("\"ranges\": expected an object of lists");
  std::vector<KeyValues> all;
  for (const auto& [key, range] : ranges.items())
    all.push_back({key, values_of(option_called(command, key), key, range)});
  return all;
}

const json::Value& value_of_point(const json::Value& points, std::size_t i, const std::string& key) {
  const json::Value& point = points[i];
  if (point.is_object() && point.size() == points[0].size())
    if (const auto value = point.find(key); value != point.end()) return *value;
  throw InputError(
      fmt::format("\"points\": point {} differs in its keys from point 1; give all points the same keys", i + 1));
}

std::vector<KeyValues> in_rows(const json::Value& points) {
  if (!points.is_array() || points.empty() || !points[0].is_object() || points[0].empty())
    throw InputError("\"points\": expected a list of at least one object of inputs");
  std::vector<KeyValues> all;
  for (const auto& [key, first] : points[0].items()) {
    KeyValues column{key, {}};
    for (std::size_t i = 0; i < points.size(); ++i) column.values.push_back(value_of_point(points, i, key));
    all.push_back(std::move(column));
  }
  return all;
}

/// The request with a value under a key of a point.
json::Value with_value(json::Value request, const std::string& key, const json::Value& value) {
  (key == "model" || key == "hardware" ? request[key] : request["inputs"][key]) = value;
  return request;
}

/// Text of a value of an option (null: of MODEL), which may name presets but no files.
std::optional<std::string> text_of_value(const Option* option, const json::Value& value) {
  const bool names_preset = option == nullptr || option->value == "HW";
  if (names_preset && !value.is_string())
    throw InputError(fmt::format("{}: expected the name of a preset in every point",
                                 in_quotes(option == nullptr ? "model" : option->key())));
  const auto text =
      option == nullptr ? std::optional(value.get<std::string>()) : input_text(*option, value, "\"points\"");
  if (text) require_presets(option, *text);
  return text;
}

SweepAxis axis_of(const Command& command, KeyValues column) {
  const Option* option = option_called(command, column.key);
  if (option != nullptr) check_swept_option(command, *option);
  std::vector<SweepAxis::Given> given;
  for (json::Value& value : column.values) {
    auto text = text_of_value(option, value);
    given.emplace_back(std::move(value), std::move(text));
  }
  return {option, std::move(given)};
}

const json::Value& base_of(const json::Value& request) {
  static const std::vector<std::string> known{"base", "ranges", "points", "fields"};
  for (const auto& [key, value] : request.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw InputError(fmt::format("{} is not a key of a sweep{}", in_quotes(key), suggestion(key, known)));
  const auto base = request.find("base");
  if (base == request.end() || !base->is_object())
    throw InputError("\"base\": expected a request: {\"command\", \"model\", \"hardware\", \"inputs\"}");
  if (request.contains("ranges") == request.contains("points"))
    throw InputError("a sweep needs either \"ranges\" or \"points\"");
  return *base;
}

std::vector<std::string> fields_of(const json::Value& request) {
  const auto fields = request.find("fields");
  if (fields == request.end()) return {};
  std::vector<std::string> all;
  for (const json::Value& field : *fields)
    if (fields->is_array() && field.is_string())
      all.push_back(field.get<std::string>());
    else
      throw InputError("\"fields\": expected a list of dotted paths such as \"step.time_s\"");
  return all;
}

const Command& command_of_base(const json::Value& base) {
  const auto name = base.find("command");
  return swept_command(name != base.end() && name->is_string() ? name->get<std::string>() : "", "\"command\"");
}

/// The request's points without a check of their values.
SweepPoints points_of(const Command& command, json::Value base, std::vector<KeyValues> columns) {
  SweepPoints points{.command = &command, .axes = {}};
  for (const KeyValues& column : columns) base = with_value(base, column.key, column.values[0]);
  const Arguments arguments(command, base, Files::refused);
  for (const auto& [option, text] : arguments.options_given()) check_swept_option(command, *option);
  check_hardware_given(arguments, command);
  std::vector<const Option*> swept;
  for (KeyValues& column : columns) {
    points.axes.push_back(axis_of(command, std::move(column)));
    swept.push_back(points.axes.back().option());
  }
  points.base = arguments.unsettled(swept);
  return points;
}

}  // namespace

AskedSweep read_sweep(const json::Value& request) {
  const json::Value& base = base_of(request);
  const Command& command = command_of_base(base);
  const bool by_row = request.contains("points");
  auto columns = by_row ? in_rows(request["points"]) : combined(command, request["ranges"]);
  AskedSweep sweep{points_of(command, base, std::move(columns)), fields_of(request)};
  sweep.points.in_rows = by_row;
  if (sweep.points.size() > most_points)
    throw InputError(fmt::format("the sweep has {} points, more than {}; split it", sweep.points.size(), most_points));
  check_values(sweep.points);
  return sweep;
}

}  // namespace llmcalc
