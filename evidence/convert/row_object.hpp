#pragma once
/// An object of a row, read through checks: null counts as not stated, a value of the wrong type or beyond physics is
/// refused with file, line and row, and keys that nobody asked for are collected. No number but 0 is smaller than 1e-9
/// or larger than 1e15, in whatever unit: nothing that was ever measured is.

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
  /// `path` is the object's place in its row: "", or "measured.".
  RowObject(const json::Object& object, std::string path, UnknownKeys& unknown)
      : object_(object), path_(std::move(path)), unknown_(&unknown) {}

  bool has(std::string_view key) const { return object_.has(key); }
  std::optional<Count> count(std::string_view key) const;      ///< at least 0
  std::optional<Count> positive(std::string_view key) const;   ///< at least 1
  std::optional<double> quantity(std::string_view key) const;  ///< above 0
  std::optional<double> amount(std::string_view key) const;    ///< at least 0
  std::optional<double> number(std::string_view key) const;    ///< of either sign
  std::optional<double> fraction(std::string_view key) const;  ///< above 0 and at most 1
  std::optional<bool> flag(std::string_view key) const;        ///< true, "True", ...
  std::string text(std::string_view key) const;                ///< empty: not stated
  /// What a key says, whatever its type: a string as it is, anything else as JSON; empty for null, false and [].
  std::string said(std::string_view key) const;
  bool is_false(std::string_view key) const;  ///< the value false itself
  /// The architecture in the config.json of Hugging Face under a key, or nothing. Throws InputError where no such model
  /// can be read.
  std::optional<ModelCard> config(std::string_view key) const;
  /// The object under a key; an empty one where there is none.
  RowObject object(std::string_view key) const;

  /// Takes note of keys that say nothing that is used here.
  void known(std::initializer_list<std::string_view> keys) const;
  void known_beginning(std::string_view prefix) const;
  /// Adds the keys that were not asked for to the unknown ones, as "measured.key", and returns what they say, each with
  /// a semicolon behind it: "mtp: 3; ".
  std::string finish() const;

  const std::string& where() const { return object_.where(); }
  std::vector<std::string> keys() const { return object_.keys(); }

 private:
  json::Object object_;
  std::string path_;
  UnknownKeys* unknown_;
};

/// Gigabytes of one device.
std::optional<double> device_memory(const RowObject& o, std::string_view key);

}  // namespace llmcalc
