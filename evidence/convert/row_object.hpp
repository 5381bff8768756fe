#pragma once
/// Checked view of an object in a row. Null means not stated. Errors for wrong types and physically impossible values
/// name the file, line and row. Unread keys are collected. Numbers other than 0 must be from 1e-9 to 1e15 in any
/// unit, because no measured value is outside this range.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

using UnknownKeys = std::set<std::string>;

class RowObject {
 public:
  /// `path` is the object's path in its row: "", or "measured.".
  RowObject(const json::Object& object, std::string path, UnknownKeys& unknown)
      : object_(object), path_(std::move(path)), unknown_(&unknown) {}

  bool has(std::string_view key) const { return object_.has(key); }
  std::optional<Count> count(std::string_view key) const;      ///< the value must be at least 0
  std::optional<Count> positive(std::string_view key) const;   ///< the value must be at least 1
  std::optional<double> quantity(std::string_view key) const;  ///< the value must be above 0
  std::optional<double> amount(std::string_view key) const;    ///< the value must be at least 0
  std::optional<double> number(std::string_view key) const;    ///< the value may have either sign
  std::optional<double> fraction(std::string_view key) const;  ///< the value must be above 0 and at most 1
  std::optional<bool> flag(std::string_view key) const;        ///< reads true, "True", ...
  std::string text(std::string_view key) const;                ///< empty if not stated
  /// Value under a key as text. Strings are returned unchanged, other types as JSON; null, false and [] are returned as
  /// an empty string.
  std::string said(std::string_view key) const;
  bool is_false(std::string_view key) const;  ///< whether the value is exactly false
  /// Architecture from a Hugging Face config.json under a key, if present. Throws InputError if it is unreadable.
  std::optional<ModelCard> config(std::string_view key) const;
  /// Object under a key; empty if the key is missing.
  RowObject object(std::string_view key) const;

  /// Marks keys as known even though their values are not used.
  void known(std::initializer_list<std::string_view> keys) const;
  void known_beginning(std::string_view prefix) const;
  /// Adds unread keys to the unknown ones, as "measured.key", and returns their values, each followed by a semicolon:
  /// "mtp: 3; ".
  std::string finish() const;

  const std::string& where() const { return object_.where(); }
  std::vector<std::string> keys() const { return object_.keys(); }

 private:
  json::Object object_;
  std::string path_;
  UnknownKeys* unknown_;
};

/// Gigabytes per device.
std::optional<double> device_memory(const RowObject& o, std::string_view key);

}  // namespace llmcalc
