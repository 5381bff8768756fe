#include "report/commands/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <sstream>

#include "ask/request/inputs.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/options/synonyms.hpp"
#include "calc/choice.hpp"
#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "report/render/render.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Whether `choice` has the form "cuda:N" and the text matches it with a number in place of N.
bool is_numbered(std::string_view choice, std::string_view text) {
  if (!choice.ends_with(":N")) return false;
  choice.remove_suffix(1);
  return text.size() > choice.size() && same_spelling(text.substr(0, choice.size()), choice) &&
         text.find_first_not_of("0123456789", choice.size()) == std::string_view::npos;
}

/// The choice of "cpu|cuda|cuda:N" that matches the text; the unchanged text if the option accepts any value.
std::string chosen(const Option& o, const std::string& text) {
  const bool closed = o.value.find('|') != std::string_view::npos;
  if (!closed && !text.empty()) return text;
  std::istringstream choices{std::string(o.value)};
  for (std::string one; closed && std::getline(choices, one, '|');)
    if (same_spelling(one, text))
      return one;
    else if (is_numbered(one, text))
      return lower(text);
  throw InputError(fmt::format("{}: expected {}, got {}", o.flag, one_of(o.value), in_quotes(text)));
}

std::string help_hint(const Command& c) { return fmt::format("'{} --help-all' lists all options", invocation(c)); }

void declare(CLI::App& app, const Command& command) {
  app.set_help_flag();
  app.allow_extras();
  for (const Word& w : command.words) {
    CLI::Option* word = app.add_option(std::string(w.name));
    if (w.repeats) word->expected(1, -1)->allow_extra_args();
  }
  for (const Option* o : options_of(command)) {
    const std::string flag(o->flag);
    (o->value.empty() ? app.add_flag(flag) : app.add_option(flag))->take_all();
  }
}

/// The command's option for a synonym; null if the command accepts the synonym itself, or has no such option.
const Option* meant_option(const Command& command, std::string_view flag) {
  const Synonym* const s = flag.starts_with("-") && option_of(command, flag) == nullptr ? find_synonym(flag) : nullptr;
  if (s == nullptr) return nullptr;
  const Option* const o = option_of(command, s->flag);
  return o != nullptr || s->instead.empty() ? o : option_of(command, s->instead);
}

/// The arguments, with synonyms replaced by the command's options.
std::vector<std::string> without_synonyms(const Command& command, Args args) {
  std::vector<std::string> all;
  for (const std::string& a : args) {
    const std::string flag = a.substr(0, a.find('='));
    const Option* const o = meant_option(command, flag);
    all.push_back(o == nullptr ? a : std::string(o->flag) + a.substr(flag.size()));
  }
  return all;
}

/// Whether `next` is the value of an option whose value is optional.
bool is_optional_value(const Option& o, std::string_view next) { return o.value == fmt::format("[{}]", next); }

/// The arguments in the order that CLI11 expects, last first. Splits "--seq=" into the option and an empty value,
/// because CLI11 would use the next argument as its value. Also adds an empty value to options whose optional value is
/// missing.
std::vector<std::string> from_the_end(const Command& command, Args args) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& a = args[i];
    const bool empty_value = a.starts_with("--") && a.find('=') == a.size() - 1;
    all.push_back(empty_value ? a.substr(0, a.size() - 1) : a);
    const Option* o = option_of(command, a);
    const bool misses_value =
        o != nullptr && o->has_optional_value() && (i + 1 == args.size() || !is_optional_value(*o, args[i + 1]));
    if (empty_value || misses_value) all.emplace_back();
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// The error message for an option that belongs to another command.
std::string elsewhere(const Command& command, const Option& o, std::span<const Command> all) {
  const bool trains = (command.parts & part::training) != 0, infers = (command.parts & part::inference) != 0;
  if (trains != infers && option_of(command, o.instead) != nullptr)
    return fmt::format("{} applies to {}; for {} use {}", o.flag, trains ? "inference" : "training",
                       trains ? "training" : "inference", o.instead);
  std::string takers;
  for (const Command& c : all)
    if ((c.parts & o.parts) != 0) takers += (takers.empty() ? "" : "|") + std::string(c.name);
  return fmt::format("{} is not an option of '{}', only of {}; {}", o.flag, invocation(command), one_of(takers),
                     help_hint(command));
}

}  // namespace

Arguments::Arguments(const Command& command, Args args, std::span<const Command> all)
    : command_(command), all_(all), typed_(args.begin(), args.end()) {
  CLI::App app;
  declare(app, command);
  const std::vector<std::string> words = without_synonyms(command, args);
  try {
    app.parse(from_the_end(command, words));
  } catch (const CLI::ArgumentMismatch&) {  // CLI11 accepts any word as a value, so only the last option can lack one
    throw InputError(fmt::format("{}: missing value ({})", words.back(), option_of(command, words.back())->value));
  }
  refuse_extras(app.remaining());
  std::map<const CLI::Option*, std::size_t> seen;  // a repeated argument occurs once for each of its results
  for (const CLI::Option* given : app.parse_order()) add(given->get_name(), given->results()[seen[given]++]);
  take_launch();
  refuse_missing_words();
  refuse_two_styles();
  if (has("--json") && has("--exact")) throw InputError("--json is always exact; omit --exact");
  for (const char* style : {"--json", "--markdown", "--csv", "--jsonl"})
    if (has("--full") && has(style)) throw InputError(fmt::format("{} is always complete; omit --full", style));
}

void Arguments::refuse_two_styles() const {
  std::string_view first;
  for (const StyleFlag& s : style_flags) {
    if (!has(s.flag)) continue;
    if (!first.empty())
      throw InputError(fmt::format("{} and {} are mutually exclusive; specify one of them", first, s.flag));
    first = s.flag;
  }
}

void Arguments::refuse_missing_words() const {
  for (std::size_t i = words_.size(); i < command_.words.size(); ++i)
    if (command_.words[i].required)
      throw InputError(fmt::format("'{}' needs {} ({}); '{} --help' shows an example", invocation(command_),
                                   command_.words[i].name, command_.words[i].help, invocation(command_)));
}

void Arguments::refuse_extras(const std::vector<std::string>& extras) const {
  for (const std::string& extra : extras) {
    if (extra == "--") continue;
    if (extra.starts_with('-') && extras.front() != "--") refuse_unknown(extra.substr(0, extra.find('=')));
    throw InputError(
        fmt::format("unexpected argument {} for '{}'; see its --help", in_quotes(extra), invocation(command_)));
  }
}

void Arguments::add(const std::string& name, const std::string& text) {
  const Option* o = option_of(command_, name);
  if (o == nullptr) return words_.push_back(text);
  if (has(name) && !o->repeats) throw InputError(fmt::format("{} is specified twice; specify it once", name));
  if (o->value.empty() && text != "true")  // CLI11's text for a flag without a value
    throw InputError(fmt::format("{} takes no value; omit the value", name));
  given_.push_back({o, o->field.read == nullptr && !o->value.empty() ? chosen(*o, text) : text});
}

void Arguments::refuse_unknown(std::string_view flag) const {
  const std::string doubled = "-" + std::string(flag);
  if (option_of(command_, doubled) != nullptr)
    throw InputError(fmt::format("unknown option {}; did you mean {}?", flag, doubled));
  if (const Option* o = find_option(flag)) throw InputError(elsewhere(command_, *o, all_));
  std::vector<std::string> known;
  for (const Option* o : options_of(command_)) known.emplace_back(o->flag);
  for (const Synonym& s : synonyms())
    if (meant_option(command_, s.typed) != nullptr) known.emplace_back(s.typed);
  const std::vector<std::string> near = nearest(flag, known, 1);
  throw InputError(fmt::format("unknown option {} for '{}'{} ({})", in_quotes(flag), invocation(command_),
                               near.empty() ? "" : ", did you mean " + near[0] + "?", help_hint(command_)));
}

std::string Arguments::word(std::string_view name) const {
  const std::vector<std::string> found = words_from(name);
  return found.empty() ? "" : found[0];
}

std::vector<std::string> Arguments::words_from(std::string_view name) const {
  for (std::size_t i = 0; i < words_.size() && i < command_.words.size(); ++i)
    if (command_.words[i].name == name) return {words_.begin() + static_cast<std::ptrdiff_t>(i), words_.end()};
  return {};
}

bool Arguments::has(std::string_view flag) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.option->flag == flag; });
}

Screen Arguments::screen() const {
  constexpr std::array full{"--full", "--ops", "--stages", "--exact"};  // lines that only the full report has
  const auto given = [&](std::string_view flag) { return has(flag); };
  const auto* const style =
      std::find_if(style_flags.begin(), style_flags.end(), [&](const StyleFlag& s) { return given(s.flag); });
  return {.style = style == style_flags.end() ? Style::text : style->style,
          .exact = given("--exact"),
          .full = std::any_of(full.begin(), full.end(), given)};
}

std::vector<std::string> Arguments::texts(std::string_view flag) const {
  std::vector<std::string> all;
  for (const Given& g : given_)
    if (g.option->flag == flag) all.push_back(g.text);
  return all;
}

std::vector<std::pair<const Option*, std::string>> Arguments::options_given() const {
  std::vector<std::pair<const Option*, std::string>> all;
  for (const Given& g : given_) all.emplace_back(g.option, g.text);
  return all;
}

std::string Arguments::text(std::string_view flag, std::string_view otherwise) const {
  assert(option_of(command_, flag) != nullptr);
  for (const Given& g : given_)
    if (g.option->flag == flag) return g.text;
  return std::string(otherwise);
}

Arguments Arguments::with(std::string_view flag, const std::string& text) const {
  Arguments other = *this;
  for (Given& g : other.given_)
    if (g.option->flag == flag) g.text = text;
  return other;
}

Arguments Arguments::with_flag(std::string_view flag) const {
  Arguments other = *this;
  const Option* const o = option_of(command_, flag);
  if (o != nullptr && !has(flag)) other.given_.push_back({o, ""});
  return other;
}

Arguments Arguments::with_plan_of(const Arguments& others) const {
  Arguments all = *this;
  for (const Given& g : others.given_)
    if (g.option->field.read != nullptr && !has(g.option->flag)) all.given_.push_back(g);
  return all;
}

const Option* Arguments::first_of_plan(std::string_view besides) const {
  for (const Given& g : given_)
    if (g.option->field.read != nullptr && g.option->parts != part::halves && g.option->flag != besides)
      return g.option;
  return nullptr;
}

// ---- JSON

namespace {

/// Whether a key names the option: "bandwidth", or with its unit "bandwidth_bytes_per_s".
bool names(std::string_view key, const Option& o) {
  const std::string own = o.key();
  return key == own || (o.field.read == nullptr && key.starts_with(own + "_"));
}

/// The value under the key. If the inputs also have its digits as text, reads the digits, because a program in
/// between may have rounded the number.
json::Value exact_input(const json::Value& inputs, const std::string& key) {
  const std::string text_key = key + std::string(exact_text_ending);
  const auto text = inputs.find(text_key);
  const bool exact = text != inputs.end() && text->is_string() && is_exact_text(inputs, text_key);
  return exact ? json::parse(text->get_ref<const std::string&>(), in_quotes(text_key)) : inputs.at(key);
}

bool names_model(const Word& w) { return w.name == "MODEL" || w.name == "CONFIG"; }

/// Throws InputError unless the name is a preset; for requests that may not read files.
void require_preset(std::span<const Builtin> presets, const std::string& name, const std::string& what) {
  if (find_meant(presets, name)) return;
  const std::vector<std::string> near = nearest(name, builtin_names(presets), 1);
  throw InputError(fmt::format("\"{}\": unknown preset {}{}; specify a preset or an object", what, in_quotes(name),
                               near.empty() ? "" : ", did you mean " + in_quotes(near[0]) + "?"));
}

/// Throws InputError unless each device of "h100,h200" or "rtx-3090+rtx-3060" is a preset, or the text is "any".
void require_devices(const std::string& hardware, const std::string& key) {
  if (hardware == "any") return;
  std::istringstream names(hardware + ",");
  for (std::string machine; std::getline(names, machine, ',');)
    for (const std::string& one : device_names(machine)) require_preset(builtin_hardware(), one, key);
}

}  // namespace

Arguments::Arguments(const Command& command, const json::Value& request, Files files)
    : command_(command), json_(true), files_(files) {
  static const json::Value none = json::Value::object();
  if (const auto m = request.find("model"); m != request.end()) read_model(*m);
  if (const auto h = request.find("hardware"); h != request.end()) read_hardware(*h);
  const auto inputs = request.find("inputs");
  const json::Value& given = inputs == request.end() ? none : *inputs;
  if (!given.is_object()) throw InputError("\"inputs\": expected an object of options");
  for (const auto& [key, value] : given.items())
    if (!is_exact_text(given, key)) add_input(key, exact_input(given, key));
  take_launch();
  const std::vector<const Option*> order = options_of(command);
  const auto at = [&](const Given& g) { return std::find(order.begin(), order.end(), g.option); };
  std::stable_sort(given_.begin(), given_.end(), [&](const Given& a, const Given& b) { return at(a) < at(b); });
  while (!words_.empty() && words_.back().empty()) words_.pop_back();
  refuse_missing_words();
}

void Arguments::add_input(const std::string& key, const json::Value& value) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < command_.words.size(); ++i) {
    const Word& w = command_.words[i];
    known.push_back(w.request_key());
    if (key != known.back() && key != lower(w.name)) continue;
    if (words_.size() <= i) words_.resize(i + 1);
    if (!value.is_string()) throw InputError(fmt::format("\"inputs\", {}: expected a string", in_quotes(key)));
    words_[i] = value.get<std::string>();
    if (files_ == Files::refused && names_model(w)) require_presets(nullptr, words_[i]);
    return;
  }
  for (const Option* o : options_of(command_)) {
    known.push_back(o->key());
    if (!names(key, *o)) continue;
    if (o->parts == part::pictures && files_ == Files::refused)
      throw InputError(
          fmt::format("\"inputs\", {}: pages and charts are written by the command line; omit it", in_quotes(key)));
    const auto text = input_text(*o, value, "\"inputs\"");
    if (!text) return off_.push_back(o);
    if (files_ == Files::refused) require_presets(o, *text);
    given_.push_back({o, o->field.read == nullptr && !o->value.empty() ? chosen(*o, *text) : *text, value});
    return;
  }
  const std::vector<std::string> near = nearest(key, known, 1);
  throw InputError(fmt::format("\"inputs\": {} is not an input of {}{}", in_quotes(key), in_quotes(command_.name),
                               near.empty() ? "" : ", did you mean " + in_quotes(near[0]) + "?"));
}

void require_presets(const Option* o, const std::string& text) {
  if (o == nullptr) return require_preset(builtin_models(), text, "model");
  if (takes_file(*o)) throw InputError(fmt::format("{} takes a file, which a request cannot name; omit it", o->flag));
  if (o->value == "HW" || o->value == "CPU") require_devices(text, o->key());
  if (o->value == "MODEL") require_preset(builtin_models(), text, o->key());
  if (o->flag == "--software" && text != "none")
    require_preset(builtin_software(), std::string(versioned(text).name), "software");
}

void Arguments::read_model(const json::Value& value) {
  const auto at = std::find_if(command_.words.begin(), command_.words.end(), names_model);
  if (at == command_.words.end()) throw InputError(fmt::format("{} takes no \"model\"", in_quotes(command_.name)));
  const auto place = static_cast<std::size_t>(at - command_.words.begin());
  words_.resize(std::max(words_.size(), place + 1));
  if (value.is_string()) {
    words_[place] = value.get<std::string>();
    if (files_ == Files::refused) require_presets(nullptr, words_[place]);
    return;
  }
  if (!value.is_object()) throw InputError("\"model\": expected a preset name or an object");
  model_ = is_model_file(value) ? read_model_file(value, "\"model\"") : import_config(value, "\"model\"");
  words_[place] = model_->name.empty() ? "unnamed" : model_->name;
}

void Arguments::read_hardware(const json::Value& value) {
  const Option* o = option_of(command_, "--hardware");
  if (o == nullptr) throw InputError(fmt::format("{} takes no \"hardware\"", in_quotes(command_.name)));
  if (!value.is_string() && !value.is_object()) throw InputError("\"hardware\": expected a preset name or an object");
  if (value.is_object()) hardware_ = read_hardware_file(value, "\"hardware\"");
  const std::string name = hardware_ ? hardware_->name : value.get<std::string>();
  if (!hardware_ && files_ == Files::refused) require_devices(name, "hardware");
  given_.push_back({o, name, value});
}

ModelCard Arguments::model() const { return model_ ? *model_ : load_model(word("MODEL")); }

ModelCard Arguments::config() const { return model_ ? *model_ : load_model(word("CONFIG")); }

HardwareCard Arguments::hardware() const { return hardware_ ? *hardware_ : load_hardware(text("--hardware")); }

std::pair<std::string, std::string> Arguments::log() const {
  const std::string path = word("LOG");
  if (json_) return {path, "\"log\""};
  return {json::file_text(path, "a log"), path == json::standard_input ? "standard input" : path};
}

}  // namespace llmcalc
