#pragma once
/// How a software stack is launched: the words of its command or the keys of its file for each input. The same table
/// is used for printing (--emit) and for reading (--from).
///
/// "launch": { "form":     "command", "toml", "yaml", "json" or "modelfile"
///             "start"?:   ["vllm serve {model}", ...]: words of the command; the first is printed, all are read
///             "model"?:   ROW of the model's name; absent: the place of {model}, or not part of the text
///             "settings": { INPUT: ROW, ... }: by the input's key or by a derived size (ask/request/launch/sizes.hpp)
///             "fixed"?:   { SETTING: value }: always printed
///             "also"?:    { SPELLING: SETTING }: further spellings, for settings in the ways of a value
///             "script"?:  [INPUT, ...]: set by the user's script or the stack itself, not by this text
///             "ignored"?: [SETTING, ...]: settings without effect on the calculation; in a command, flags
///             "ignored_values"?: [SETTING, ...]: the same with a value; in a file, also all keys below the setting
///             "source" }
///
/// ROW: a SETTING, a list of its spellings, or { "setting"?: either of these, "values"?: { INPUT VALUE: WAY or [WAY,
/// ...] }, "default"?: the input value that need not be printed, or "{INPUT}" for that input's value, "absent"?: the
/// input value if the text has none of the settings }. WAY: the setting's value, or { SETTING: value, ... } with true
/// for a flag. The first way is printed, and all are read. In an input value, "{n}" denotes any text without ':' and
/// ',', which replaces "{n}" in the way.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

enum class LaunchForm : std::uint8_t { command, toml, yaml, json, modelfile };

/// An option of a command, or a key of a file. A flag has the value true.
struct LaunchSetting {
  std::string name;
  json::Value value;
};
using LaunchSettings = std::vector<LaunchSetting>;

/// The ways to write one value of an input.
struct LaunchCase {
  std::string input;
  std::vector<LaunchSettings> ways;
};

struct LaunchRow {
  std::string key;
  std::vector<std::string> names;    ///< spellings of the setting; the first is printed
  std::vector<LaunchCase> cases;     ///< values with a different text; empty: the text is always the input's value
  std::optional<std::string> usual;  ///< value of "default": the input value that need not be printed
  std::optional<std::string> absent;
};

struct Launch {
  LaunchForm form = LaunchForm::command;
  std::vector<std::string> starts;
  std::optional<LaunchRow> model;
  std::vector<LaunchRow> rows;
  LaunchSettings fixed;
  std::vector<std::pair<std::string, std::string>> also;
  std::vector<std::string> script, ignored, ignored_values;
  std::string source;

  /// The row of an input; null if the input has no row.
  const LaunchRow* row(std::string_view key) const;
};

/// Throws InputError if the object is invalid.
Launch read_launch(const json::Object& o);

/// A setting's value as text; true becomes "on".
std::string setting_text(const json::Value& v);

}  // namespace llmcalc
