#include "ask/request/launch/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/launch/pattern.hpp"
#include "ask/request/launch/sizes.hpp"
#include "ask/request/options/serving_options.hpp"
#include "presets/launch/settings_text.hpp"
#include "presets/load.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Options that launch commands do not express, although they affect the same parts of an answer: traffic limits,
/// prices and the host.
constexpr std::array outside_launch{
    "--price",    "--watts",     "--pue",        "--require-fit", "--memory",   "--stages",  "--expert-load",
    "--host",     "--slo-ttft",  "--slo-tpot",   "--host-memory", "--prompt",   "--router",  "--offload-bandwidth",
    "--replicas", "--api-price", "--percentile", "--acceptance",  "--generate", "--requests"};

bool holds(std::string_view words, std::string_view word) {
  return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos;
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The model's name on the hub, or the typed text if it has none.
std::string known_model(const std::string& typed) {
  const std::string hub = hub_name(load_model(typed));
  return hub.empty() ? typed : hub;
}

/// Builds the settings of one request.
class Settings {
 public:
  Settings(const Request& r, const SoftwareCard& stack) : r_(r), stack_(stack), inputs_(inputs_json(r)) {}

  void add_model(const std::string& model) {
    const Launch& t = *stack_.launch;
    if (!t.model || is_in_start("model")) return;
    if (t.model->cases.empty()) return add({t.model->names.front(), model});
    if (add_case(*t.model, r_.model.name)) return;
    throw InputError(fmt::format("--emit {0}: the launch table of {0} has no configuration for {1}; it lists {2}",
                                 stack_.name, r_.model.name, inputs_of(*t.model)));
  }
  void add_row(const LaunchRow& row) {
    const std::optional<std::string> text = value_of(row);
    if (!text || text == usual_of(row) || is_in_start(row.key)) return;
    if (row.cases.empty()) return add_plain(row, *text);
    if (!add_case(row, *text)) refuse_value(row, *text);
  }
  void add(LaunchSetting one) {
    const auto known =
        std::find_if(all_.begin(), all_.end(), [&](const LaunchSetting& s) { return s.name == one.name; });
    if (known == all_.end()) return all_.push_back(std::move(one));
    if (known->value != one.value)
      throw InputError(fmt::format("--emit {}: the plan requires two values of {}, {} and {}", stack_.name, one.name,
                                   setting_text(known->value), setting_text(one.value)));
  }
  /// The value of an input or size; absent if it has no effect.
  std::optional<std::string> value_of(std::string_view key) const {
    if (const LaunchSize* size = find_size(key)) return size->text(r_);
    const auto found = inputs_.find(std::string(key));
    if (found == inputs_.end()) return std::nullopt;
    const std::string text = setting_text(*found);
    return key == "draft_model" ? known_model(text) : text;
  }
  LaunchSettings take() { return std::move(all_); }

 private:
  std::optional<std::string> value_of(const LaunchRow& row) const { return value_of(std::string_view(row.key)); }
  std::optional<std::string> usual_of(const LaunchRow& row) const {
    const bool refers = row.usual && row.usual->starts_with('{');
    return refers ? value_of(std::string_view(*row.usual).substr(1, row.usual->size() - 2)) : row.usual;
  }
  bool is_command() const { return stack_.launch->form == LaunchForm::command; }
  /// Whether the start of a command contains the value.
  bool is_in_start(std::string_view key) const {
    const Launch& t = *stack_.launch;
    return is_command() && !t.starts.empty() && t.starts.front().find(fmt::format("{{{}}}", key)) != std::string::npos;
  }
  bool gave(std::string_view key) const {
    return std::any_of(r_.given.begin(), r_.given.end(),
                       [&](std::string_view flag) { return find_option(flag)->key() == key; });
  }
  void add_plain(const LaunchRow& row, const std::string& text) {
    if (text != "on" && text != "off")
      return add({row.names.front(), is_command() ? json::Value(text) : setting_value(text)});
    if (text == "on" || !is_command()) add({row.names.front(), text == "on"});
  }
  json::Value filled_value(const json::Value& v, const Gaps& gaps) const {
    if (!v.is_string()) return v;
    const std::string text = filled(v.get<std::string>(), gaps);
    return text == v.get<std::string>() || is_command() ? json::Value(text) : setting_value(text);
  }
  bool add_case(const LaunchRow& row, const std::string& text) {
    for (const LaunchCase& c : row.cases) {
      Gaps gaps;
      if (!match(c.input, text, gaps)) continue;
      for (const LaunchSetting& one : c.ways.front()) add({one.name, filled_value(one.value, gaps)});
      return true;
    }
    return false;
  }
  static std::string inputs_of(const LaunchRow& row) {
    std::string all;
    for (const LaunchCase& c : row.cases)
      if (!c.input.empty()) all += (all.empty() ? "" : ", ") + c.input;
    return all;
  }
  /// Throws InputError if the user specified the value.
  void refuse_value(const LaunchRow& row, const std::string& text) const {
    if (!gave(row.key)) return;
    std::string flag = row.key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    throw InputError(
        fmt::format("--{} {}: the launch table of {} has only {}", flag, text, stack_.name, inputs_of(row)));
  }

  const Request& r_;
  const SoftwareCard& stack_;
  json::Value inputs_;
  LaunchSettings all_;
};

}  // namespace

std::string hub_name(const ModelCard& model) {
  constexpr std::string_view hub = "huggingface.co/";
  const std::string& source = model.published_source;
  if (!source.starts_with(hub)) return "";
  const std::string name = source.substr(hub.size(), source.find_first_of(", ") - hub.size());
  return std::count(name.begin(), name.end(), '/') == 1 ? name : "";
}

bool expresses(const Launch& t, const std::string& key) {
  return contains(t.script, key) || std::any_of(t.rows.begin(), t.rows.end(), [&](const LaunchRow& row) {
           const LaunchSize* size = find_size(row.key);
           return row.key == key || (size != nullptr && holds(size->covers, key));
         });
}

namespace {

void refuse_unexpressed(const Request& r, const SoftwareCard& stack) {
  for (const std::string_view flag : r.given) {
    const Option& o = *find_option(flag);
    const std::string key = flag == "--fsdp" ? "zero" : o.key();
    if (is_outside_launch(r, o) || expresses(*stack.launch, key)) continue;
    throw InputError(
        fmt::format("{}: the launch table of {} has no setting for it; omit it, or launch with another "
                    "stack",
                    flag, stack.name));
  }
}

/// The first form of the command, with the model and the sizes filled in.
std::string start_text(const Launch& t, const Settings& settings, const std::string& model) {
  if (t.starts.empty()) return "";
  Gaps gaps{{"model", t.form == LaunchForm::command ? shell_word(model) : model}};
  for (const char* size : {"nodes", "node_gpus"})
    if (const auto text = settings.value_of(size)) gaps[size] = *text;
  return filled(t.starts.front(), gaps) + (t.form == LaunchForm::command ? "" : "\n");
}

/// A comment line that states the number of engines, if there are several; empty for JSON, which has no comments.
std::string engines_comment(const Request& r, const Launch& t) {
  if (r.serving.replicas == 1 || t.row("replicas") != nullptr || t.form == LaunchForm::json) return "";
  return fmt::format("# {}, routed {}\n", counted(r.serving.replicas, "engine"), name(r.serving.routing));
}

}  // namespace

bool is_outside_launch(const Request& r, const Option& o) {
  constexpr Parts launched =
      part::training | part::step | part::inference | part::one_batch | part::fit | part::serving | part::simulated;
  if ((o.parts & launched) == 0) return true;
  if (o.flag == "--memory-utilization" && r.has(part::training)) return true;
  const auto traffic = traffic_options();
  const bool loads = std::any_of(traffic.begin(), traffic.end(), [&](const Option& t) { return t.flag == o.flag; });
  return loads || std::find(outside_launch.begin(), outside_launch.end(), o.flag) != outside_launch.end();
}

std::string launch_text(const Request& r, const SoftwareCard& stack, const std::string& model) {
  const Launch& t = *stack.launch;
  refuse_unexpressed(r, stack);
  Settings settings(r, stack);
  settings.add_model(model);
  for (const LaunchRow& row : t.rows) settings.add_row(row);
  for (const LaunchSetting& one : t.fixed) settings.add(one);
  const std::string start = start_text(t, settings, model);
  return engines_comment(r, t) + settings_text(t.form, start, settings.take());
}

}  // namespace llmcalc
