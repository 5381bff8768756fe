#include "ask/request/launch/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ask/request/launch/matcher.hpp"
#include "ask/request/options/options.hpp"
#include "presets/launch/settings_text.hpp"
#include "presets/launch/shell_words.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {
namespace launch_read {

/// Maps "python3.12" and "/usr/bin/python" to "python".
std::string program_of(const std::string& word) {
  const std::string base = word.substr(word.rfind('/') + 1);
  return base.starts_with("python") ? "python" : base;
}

bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// The command without the variable assignments before it.
ShellCommand without_variables(const ShellCommand& words) {
  auto from = words.begin();
  while (from != words.end() && (is_assignment(*from) || *from == "env" || *from == "exec" || *from == "nohup")) ++from;
  return {from, words.end()};
}

std::vector<std::string> start_words(const std::string& start) {
  const auto commands = shell_commands(start);
  return commands.empty() ? std::vector<std::string>() : commands.front();
}

/// The command without the words of `start`. Absent if the command does not begin with the first of these words, or
/// lacks any of the others.
std::optional<ShellCommand> after_start(const ShellCommand& words, const std::string& start) {
  ShellCommand rest = words;
  bool first = true;
  for (const std::string& one : start_words(start)) {
    if (one.find('{') != std::string::npos || one.starts_with("--")) continue;
    const auto at =
        std::find_if(rest.begin(), rest.end(), [&](const std::string& w) { return program_of(w) == program_of(one); });
    if (at == rest.end() || (first && at != rest.begin())) return std::nullopt;
    first = false;
    rest.erase(at);
  }
  return first ? std::nullopt : std::optional(rest);
}

/// The names of all settings in a table.
class Names {
 public:
  explicit Names(const Launch& t) : t_(t) {
    if (t.model) add_row(*t.model);
    for (const LaunchRow& row : t.rows) add_row(row);
    for (const LaunchSetting& one : t.fixed) add(one.name, one.value);
    for (const std::string& one : t.ignored) all_.push_back({one, true, false, true});
    for (const std::string& one : t.ignored_values) all_.push_back({one, false, false, true});
  }
  struct Known {
    std::string name;
    bool flag = false, several = false, ignored = false;
  };
  const Known* find(std::string_view name) const {
    for (const auto& [also, meant] : t_.also)
      if (same_setting(also, name)) return find(meant);
    for (const Known& k : all_)
      if (same_setting(k.name, name)) return &k;
    if (t_.form == LaunchForm::command) return nullptr;
    for (const Known& k : all_)
      if (k.ignored && dashed_setting(name).starts_with(dashed_setting(k.name) + ".")) return &k;
    return nullptr;
  }
  /// Whether the table has settings nested under the name.
  bool is_parent(std::string_view name) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Known& k) { return dashed_setting(k.name).starts_with(dashed_setting(name) + "."); });
  }
  std::vector<std::string> all() const {
    std::vector<std::string> names;
    for (const Known& k : all_) names.push_back(k.name);
    return names;
  }

 private:
  void add(const std::string& name, const json::Value& v) {
    if (find(name) == nullptr) all_.push_back({name, v == json::Value(true), v.is_array(), false});
  }
  void add_row(const LaunchRow& row) {
    const Option* o = nullptr;
    for (const Option& one : options())
      if (one.key() == row.key) o = &one;
    const LaunchSize* size = find_size(row.key);
    const bool flag = row.cases.empty() && ((o != nullptr && o->value.empty()) || (size != nullptr && size->is_flag));
    for (const LaunchCase& c : row.cases)
      for (const LaunchSettings& way : c.ways)
        for (const LaunchSetting& one : way) add(one.name, one.value);
    for (const std::string& name : row.names) add(name, flag ? json::Value(true) : json::Value());
  }

  const Launch& t_;
  std::vector<Known> all_;
};

[[noreturn]] void refuse_unknown(const std::string& stack, const std::string& name, const Names& names) {
  throw InputError(fmt::format("--from: the launch table of {} does not list {}{}", stack, in_quotes(name),
                               suggestion(name, names.all())));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

/// Number of options of a command that the table does not list.
std::ptrdiff_t unknown_options(const Launch& t, const ShellCommand& words) {
  const Names names(t);
  return std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return is_option(word) && names.find(word.substr(0, word.find('='))) == nullptr;
  });
}

/// Reads the words after a command's start.
class CommandReader {
 public:
  CommandReader(const std::string& stack, const Launch& t, const ShellCommand& words)
      : stack_(stack), t_(t), names_(t), words_(words), takes_model_(has_place()) {}

  Launched read() {
    while (at_ < words_.size()) read_word(words_[at_++]);
    return {stack_, model_, std::move(settings_)};
  }

 private:
  bool has_place() const {
    return std::any_of(t_.starts.begin(), t_.starts.end(), [](const std::string& s) { return s.ends_with("{model}"); });
  }
  void read_word(const std::string& word) {
    if (is_option(word)) return read_option(word);
    if (takes_model_ && model_.empty()) {
      model_ = word;
    } else if (!after_ignored_) {
      throw InputError(fmt::format("--from: unexpected word {} in the command of {}", in_quotes(word), stack_));
    }
  }
  void read_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Names::Known* known = names_.find(name);
    if (known == nullptr && !names_.is_parent(name)) refuse_unknown(stack_, name, names_);
    after_ignored_ = known != nullptr && known->ignored;
    const bool flag = known != nullptr && known->flag;
    if (flag && equals == std::string::npos) return add(*known, true);
    const std::string value = equals == std::string::npos ? next_value(name) : word.substr(equals + 1);
    if (known == nullptr) return read_parts(name, value);
    std::string all = value;
    while (known->several && at_ < words_.size() && !is_option(words_[at_])) all += " " + words_[at_++];
    add(*known, setting_value(all));
  }
  const std::string& next_value(const std::string& name) {
    if (at_ == words_.size()) throw InputError(fmt::format("--from: {} needs a value", name));
    return words_[at_++];
  }
  /// Reads the keys of a JSON value, which are settings nested under the option.
  void read_parts(const std::string& name, const std::string& value) {
    const json::Value parts = json::parse(value, "--from: " + name);
    if (!parts.is_object()) throw InputError(fmt::format("--from: {} needs a JSON object", name));
    for (const auto& [key, below] : parts.items()) {
      const Names::Known* part = names_.find(name + "." + key);
      if (part == nullptr) refuse_unknown(stack_, name + "." + key, names_);
      add(*part, below);
    }
  }
  void add(const Names::Known& known, const json::Value& v) {
    const bool names_model = t_.model && is_any_setting(t_.model->names, known.name);
    if (names_model) model_ = setting_text(v);
    if (!known.ignored && !names_model) settings_.push_back({known.name, v});
  }

  const std::string& stack_;
  const Launch& t_;
  Names names_;
  const ShellCommand& words_;
  bool takes_model_;
  std::size_t at_ = 0;
  bool after_ignored_ = false;
  std::string model_;
  LaunchSettings settings_;
};

// ---- Finding the stack

struct Table {
  std::string stack;
  Launch launch;
};
/// All launch tables; those of stacks with a parent are last.
std::vector<Table> tables() {
  std::vector<Table> all, derived;
  for (const Builtin& b : builtin_software())
    if (const SoftwareCard card = load_software(b.name); card.launch)
      (card.parent.empty() ? all : derived).push_back({std::string(b.name), *card.launch});
  all.insert(all.end(), derived.begin(), derived.end());
  return all;
}

std::string starts_text(const std::vector<Table>& all) {
  std::string s;
  for (const Table& t : all) {
    const std::string start = t.launch.form == LaunchForm::command ? in_quotes(t.launch.starts.front()) : "";
    if (s.find(start) == std::string::npos) s += (s.empty() ? "" : ", ") + start;
  }
  return s;
}

/// A table, and the words of a command after the table's start.
struct Started {
  const Table* table = nullptr;
  ShellCommand rest{};
};

/// Whether `a` matches more words of the command, or as many and lists more of its options.
bool matches_better(const Started& a, const Started& b) {
  if (b.table == nullptr || a.rest.size() != b.rest.size()) return b.table == nullptr || a.rest.size() < b.rest.size();
  return unknown_options(a.table->launch, a.rest) < unknown_options(b.table->launch, b.rest);
}

/// The best match among the tables of launch commands.
Started started(const std::vector<Table>& all, const ShellCommand& words) {
  Started best;
  for (const Table& t : all) {
    if (t.launch.form != LaunchForm::command) continue;
    for (const std::string& start : t.launch.starts)
      if (auto rest = after_start(words, start))
        if (Started found{&t, std::move(*rest)}; matches_better(found, best)) best = std::move(found);
  }
  return best;
}

Launched read_command(const std::string& text) {
  const std::vector<Table> all = tables();
  for (const ShellCommand& command : shell_commands(text))
    if (const Started s = started(all, without_variables(command)); s.table != nullptr)
      return CommandReader(s.table->stack, s.table->launch, s.rest).read();
  throw InputError(
      fmt::format("--from: {} is not a launch command of a known stack; expected a command that begins with one of {}",
                  in_quotes(text), starts_text(all)));
}

std::optional<LaunchForm> file_form(const std::string& path, std::string_view text) {
  const auto ends = [&](std::string_view ending) { return lower(path).ends_with(ending); };
  if (ends(".toml")) return LaunchForm::toml;
  if (ends(".yaml") || ends(".yml")) return LaunchForm::yaml;
  if (ends(".json")) return LaunchForm::json;
  if (text.starts_with("FROM ") || text.find("\nFROM ") != std::string_view::npos) return LaunchForm::modelfile;
  return std::nullopt;
}

Launched read_file(LaunchForm form, const std::string& text, const std::string& path) {
  const std::vector<Table> all = tables();
  const auto t = std::find_if(all.begin(), all.end(), [&](const Table& one) { return one.launch.form == form; });
  if (t == all.end())
    throw InputError(
        fmt::format("--from: no known stack reads files such as '{}'; pass a launch command instead", path));
  const Names names(t->launch);
  Launched l{t->stack, "", {}};
  for (LaunchSetting& one : read_settings_file(form, text, path)) {
    const Names::Known* known = names.find(one.name);
    if (known == nullptr) refuse_unknown(t->stack, one.name, names);
    const bool names_model = t->launch.model && is_any_setting(t->launch.model->names, known->name);
    if (names_model) l.model = setting_text(one.value);
    if (!known->ignored && !names_model) l.settings.push_back({known->name, one.value});
  }
  return l;
}

}  // namespace launch_read
}  // namespace

namespace {

/// The model that several settings identify together, as in a file that names no checkpoint.
std::string configured_model(const Launched& l) {
  const SoftwareCard card = load_software(l.stack);
  if (!card.launch->model || card.launch->model->cases.empty()) return l.model;
  LaunchMatcher matcher(l.settings);
  const auto model = matcher.read(*card.launch->model);
  if (!model) matcher.refuse_unused(*card.launch->model);
  return model.value_or(l.model);
}

}  // namespace

Launched launched(const std::string& text, const std::string& path) {
  const auto form = path.empty() ? std::nullopt : launch_read::file_form(path, text);
  Launched l = form ? launch_read::read_file(*form, text, path) : launch_read::read_command(text);
  l.model = configured_model(l);
  return l;
}

InputTexts inputs_of(const Launched& l, const std::function<bool(std::string_view key)>& takes, const InputTexts& typed,
                     const Arch& arch) {
  const SoftwareCard card = load_software(l.stack);
  LaunchMatcher matcher(l.settings);
  InputTexts inputs, sizes;
  for (const LaunchRow& row : card.launch->rows) {
    const bool is_size = find_size(row.key) != nullptr;
    if (!is_size && !takes(row.key)) continue;
    if (const auto text = matcher.read(row)) (is_size ? sizes : inputs)[row.key] = *text;
  }
  for (const LaunchRow& row : card.launch->rows)
    if (find_size(row.key) == nullptr && !takes(row.key)) matcher.mark(row);
  for (const LaunchRow& row : card.launch->rows) matcher.refuse_unused(row);
  add_inputs_of_sizes(sizes, typed, arch, inputs);
  return inputs;
}

}  // namespace llmcalc
