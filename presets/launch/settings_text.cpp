#include "presets/launch/settings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// An option's value as words of a command; empty for a flag.
std::string value_words(const json::Value& v) {
  if (v == json::Value(true)) return "";
  if (!v.is_array()) return " " + shell_word(setting_text(v));
  std::string s;
  for (const json::Value& one : v) s += " " + shell_word(setting_text(one));
  return s;
}

std::string command_text(const std::string& start, const LaunchSettings& settings) {
  std::string s = start;
  for (const LaunchSetting& one : settings) s += " \\\n  " + one.name + value_words(one.value);
  return s + "\n";
}

/// The settings as nested objects.
json::Value tree_of(const LaunchSettings& settings) {
  json::Value root = json::Value::object();
  for (const LaunchSetting& one : settings) {
    json::Value* at = &root;
    std::string_view path = one.name;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      at = &(*at)[std::string(path.substr(0, dot))];
      path.remove_prefix(dot + 1);
    }
    (*at)[std::string(path)] = one.value;
  }
  return root;
}

/// Writes a table's own values, then its sub-tables.
void add_toml(std::string& s, const json::Value& table, const std::string& path) {
  for (const auto& [key, v] : table.items())
    if (!v.is_object()) s += fmt::format("{} = {}\n", key, v.dump());
  for (const auto& [key, v] : table.items()) {
    if (!v.is_object()) continue;
    const std::string below = path.empty() ? key : path + "." + key;
    const bool has_values = std::any_of(v.begin(), v.end(), [](const json::Value& x) { return !x.is_object(); });
    if (has_values) s += fmt::format("{}[{}]\n", s.empty() ? "" : "\n", below);
    add_toml(s, v, below);
  }
}

void add_yaml(std::string& s, const json::Value& table, const std::string& indent) {
  for (const auto& [key, v] : table.items()) {
    s += fmt::format("{}{}:", indent, key);
    if (v.is_object()) {
      s += "\n";
      add_yaml(s, v, indent + "  ");
    } else {
      s += fmt::format(" {}\n", v.is_string() ? v.get<std::string>() : v.dump());
    }
  }
}

/// Whether a Modelfile setting is an environment variable of the server, which is written as a comment.
bool is_variable(std::string_view name) {
  return name.find('_') != std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
}

std::string modelfile_text(const LaunchSettings& settings) {
  std::string s;
  for (const LaunchSetting& one : settings) {
    const std::string text = setting_text(one.value);
    s += is_variable(one.name) ? fmt::format("# {}={}\n", one.name, text)
                               : fmt::format("{}{} {}\n", one.name == "FROM" ? "" : "PARAMETER ", one.name, text);
  }
  return s;
}

// ---- Reading

std::string_view trimmed(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The line without its comment, which begins at a '#' outside quotes.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return line.substr(0, i);
  }
  return line;
}

void flatten(LaunchSettings& all, const json::Value& v, const std::string& path) {
  for (const auto& [key, below] : v.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (below.is_object())
      flatten(all, below, name);
    else
      all.push_back({name, below});
  }
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

/// Reads a list of plain values in brackets.
json::Value read_list(std::string_view text) {
  json::Value all = json::Value::array();
  text = text.substr(1, text.size() - 2);
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (const auto one = trimmed(text.substr(0, comma)); !one.empty()) all.push_back(setting_value(std::string(one)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

json::Value read_value(std::string_view text) {
  const bool list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  return list ? read_list(text) : setting_value(std::string(text));
}

[[noreturn]] void refuse_line(const std::string& where, std::string_view line) {
  throw InputError(fmt::format("{}: cannot read the line {}", where, in_quotes(line)));
}

LaunchSettings read_toml(std::string_view text, const std::string& where) {
  LaunchSettings all;
  std::string table;
  while (!text.empty()) {
    std::string line(trimmed(without_comment(take_line(text))));
    if (line.empty()) continue;
    if (line.front() == '[') {
      table = std::string(trimmed(std::string_view(line).substr(1, line.find(']') - 1)));
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) refuse_line(where, line);
    const std::size_t value = std::min(line.find_first_not_of(" \t", equals + 1), line.size() - 1);
    while (line[value] == '[' && line.back() != ']' && !text.empty()) line += trimmed(without_comment(take_line(text)));
    all.push_back({joined(table, trimmed(std::string_view(line).substr(0, equals))),
                   read_value(trimmed(std::string_view(line).substr(equals + 1)))});
  }
  return all;
}

/// Reads the lines of a YAML file, whose keys are nested by indentation.
class YamlReader {
 public:
  YamlReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  LaunchSettings read() {
    while (!text_.empty()) {
      const std::string_view line = without_comment(take_line(text_));
      if (!trimmed(line).empty() && trimmed(line) != "---") read_line(line);
    }
    return std::move(all_);
  }

 private:
  struct Level {
    std::size_t indent;
    std::string path;
  };
  void read_line(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(' ');
    line = trimmed(line);
    if (line.starts_with("- ") || line == "-") return read_item(indent, trimmed(line.substr(1)));
    if (in_item_ && indent > *in_item_) return;
    in_item_.reset();
    while (!levels_.empty() && levels_.back().indent >= indent) levels_.pop_back();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) refuse_line(where_, line);
    read_key(indent, trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  void read_key(std::size_t indent, std::string_view key, std::string_view value) {
    const std::string path = joined(levels_.empty() ? "" : levels_.back().path, key);
    levels_.push_back({indent, path});
    if (!value.empty()) all_.push_back({path, read_value(value)});
  }
  /// Reads an item of the list under the last key. Keys inside an item are not settings.
  void read_item(std::size_t indent, std::string_view item) {
    if (in_item_ && indent > *in_item_) return;
    in_item_ = indent;
    if (levels_.empty()) refuse_line(where_, item);
    while (levels_.size() > 1 && levels_.back().indent > indent) levels_.pop_back();
    if (all_.empty() || all_.back().name != levels_.back().path)
      all_.push_back({levels_.back().path, json::Value::array()});
    if (all_.back().value.is_array()) all_.back().value.push_back(setting_value(std::string(item)));
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<Level> levels_;
  std::optional<std::size_t> in_item_;
  LaunchSettings all_;
};

LaunchSettings read_json(std::string_view text, const std::string& where) {
  LaunchSettings all;
  const json::Value v = json::parse(text, where);
  if (!v.is_object()) throw InputError(fmt::format("{}: expected a JSON object", where));
  flatten(all, v, "");
  return all;
}

/// Skips the rest of a string in triple quotes.
void skip_quoted(std::string_view& text, std::string_view line) {
  constexpr std::string_view quotes = "\"\"\"";
  const std::size_t start = line.find(quotes);
  if (start == std::string_view::npos || line.find(quotes, start + quotes.size()) != std::string_view::npos) return;
  const std::size_t end = text.find(quotes);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + quotes.size());
}

LaunchSettings read_modelfile(std::string_view text) {
  LaunchSettings all;
  while (!text.empty()) {
    std::string_view line = trimmed(take_line(text));
    skip_quoted(text, line);
    const std::size_t equals = line.find('=');
    if (line.starts_with("# ") && equals != std::string_view::npos && is_variable(line.substr(2, equals - 2))) {
      all.push_back({std::string(line.substr(2, equals - 2)), setting_value(std::string(line.substr(equals + 1)))});
      continue;
    }
    std::size_t space = std::min(line.find(' '), line.size());
    std::string name = lower(line.substr(0, space));
    const bool parameter = name == "parameter";
    line = trimmed(line.substr(space));
    if (name != "from" && !parameter) continue;
    space = parameter ? std::min(line.find(' '), line.size()) : 0;
    all.push_back({parameter ? std::string(line.substr(0, space)) : "FROM",
                   setting_value(std::string(trimmed(line.substr(space))))});
  }
  return all;
}

}  // namespace

std::string settings_text(LaunchForm form, const std::string& start, const LaunchSettings& settings) {
  std::string s;
  switch (form) {
    case LaunchForm::command:
      return command_text(start, settings);
    case LaunchForm::toml:
      add_toml(s, tree_of(settings), "");
      return start + s;
    case LaunchForm::yaml:
      add_yaml(s, tree_of(settings), "");
      return start + s;
    case LaunchForm::json:
      return tree_of(settings).dump(2) + "\n";
    case LaunchForm::modelfile:
      return start + modelfile_text(settings);
  }
  return s;
}

LaunchSettings read_settings_file(LaunchForm form, std::string_view text, const std::string& where) {
  switch (form) {
    case LaunchForm::toml:
      return read_toml(text, where);
    case LaunchForm::yaml:
      return YamlReader(text, where).read();
    case LaunchForm::json:
      return read_json(text, where);
    case LaunchForm::modelfile:
      return read_modelfile(text);
    case LaunchForm::command:
      break;
  }
  return {};
}

json::Value setting_value(const std::string& text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  if (quoted) return text.substr(1, text.size() - 2);
  const bool number = !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos &&
                      text.find_first_of("0123456789") != std::string::npos;
  const json::Value v = number ? json::Value::parse(text, nullptr, false) : json::Value();
  return v.is_number() ? v : json::Value(text);
}

}  // namespace llmcalc
