#include "evidence/convert/row_object.hpp"

#include <fmt/format.h>

#include <cmath>

#include "presets/import/import.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

[[noreturn]] void refuse_number(const std::string& where, std::string_view key, std::string_view expected, double got) {
  throw InputError(fmt::format("{}, {}: expected {}, got {}", where, in_quotes(key), expected, got));
}

constexpr double smallest_measured = 1e-9, largest_measured = 1e15;

const json::Value& empty_object() {
  static const json::Value none = json::Value::object();
  return none;
}

}  // namespace

std::optional<Count> RowObject::count(std::string_view key) const {
  return has(key) ? std::optional(object_.count(key)) : std::nullopt;
}

std::optional<Count> RowObject::positive(std::string_view key) const {
  return has(key) ? std::optional(object_.positive(key)) : std::nullopt;
}

std::optional<double> RowObject::number(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const double x = object_.number_or(key, 0), size = std::fabs(x);
  if (size != 0 && (size < smallest_measured || size > largest_measured))
    refuse_number(where(), key, "a number from 1e-9 to 1e15", x);
  return x;
}

std::optional<double> RowObject::quantity(std::string_view key) const {
  const auto x = number(key);
  if (x && *x <= 0) refuse_number(where(), key, "a number above 0", *x);
  return x;
}

std::optional<double> RowObject::amount(std::string_view key) const {
  const auto x = number(key);
  if (x && *x < 0) refuse_number(where(), key, "a number of at least 0", *x);
  return x;
}

std::optional<double> RowObject::fraction(std::string_view key) const {
  const auto x = number(key);
  if (x && (*x <= 0 || *x > 1)) refuse_number(where(), key, "a fraction of the peak, above 0 and at most 1", *x);
  return x;
}

std::optional<bool> RowObject::flag(std::string_view key) const {
  const json::Value* v = object_.find(key);
  if (v == nullptr) return std::nullopt;
  if (v->is_string() && same_name(v->get<std::string>(), "true")) return true;
  if (v->is_string() && same_name(v->get<std::string>(), "false")) return false;
  return object_.flag(key);
}

std::string RowObject::text(std::string_view key) const { return object_.text_or(key, ""); }

std::string RowObject::said(std::string_view key) const {
  const json::Value* v = object_.find(key);
  if (v == nullptr || (v->is_boolean() && !v->get<bool>()) || (v->is_structured() && v->empty())) return "";
  return json::shown(*v);
}

bool RowObject::is_false(std::string_view key) const {
  const json::Value* v = object_.find(key);
  return v != nullptr && v->is_boolean() && !v->get<bool>();
}

std::optional<ModelCard> RowObject::config(std::string_view key) const {
  const json::Value* v = object_.find(key);
  if (v == nullptr) return std::nullopt;
  return import_config(*v, where() + ", " + in_quotes(key));
}

RowObject RowObject::object(std::string_view key) const {
  const std::string path = path_ + std::string(key) + ".";
  if (has(key)) return {object_.object(key), path, *unknown_};
  return {json::Object(empty_object(), where() + ", " + in_quotes(key)), path, *unknown_};
}

void RowObject::known(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) object_.has(key);
}

void RowObject::known_beginning(std::string_view prefix) const {
  for (const std::string& key : object_.keys())
    if (key.starts_with(prefix)) object_.has(key);
}

std::string RowObject::finish() const {
  std::string told;
  for (const std::string& key : object_.unread()) {
    unknown_->insert(path_ + key);
    if (const std::string value = said(key); !value.empty()) told += fmt::format("{}: {}; ", key, value);
  }
  return told;
}

std::optional<double> device_memory(const RowObject& o, std::string_view key) {
  constexpr double most_gb = 1e6;
  const auto gb = o.quantity(key);
  if (gb && *gb > most_gb) refuse_number(o.where(), key, "at most 1e6 GB per device", *gb);
  return gb;
}

}  // namespace llmcalc
