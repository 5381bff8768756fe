#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

#include "calc/choice.hpp"
#include "cli/command.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

const Option* option_of(const Command& command, std::string_view flag) {
  for (const Option* o : options_of(command))
    if (o->flag == flag) return o;
  return nullptr;
}

/// The choice among "cpu|cuda" that the text spells; any text for an option that takes any.
std::string chosen(const Option& o, const std::string& text) {
  const bool closed = o.value.find('|') != std::string_view::npos;
  for (std::string_view rest = o.value; closed && !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find('|'));
    if (same_spelling(one, text)) return std::string(one);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  if (!closed && !text.empty()) return text;
  throw InputError(fmt::format("{}: expected {}, got {}", o.flag, one_of(o.value), in_quotes(text)));
}

std::string help_hint(const Command& c) { return fmt::format("'llmcalc {} --help-all' shows all", c.name); }

}  // namespace

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> all;
  for (const Option& o : command.own) all.push_back(&o);
  for (const Option& o : options())
    if ((o.parts & command.parts) != 0) all.push_back(&o);
  return all;
}

std::string elsewhere(const Command& command, const Option& o) {
  const bool trains = (command.parts & part::training) != 0, infers = (command.parts & part::inference) != 0;
  if (trains != infers && option_of(command, o.instead) != nullptr)
    return fmt::format("{} is for {}; for {} use {}", o.flag, trains ? "inference" : "training",
                       trains ? "training" : "inference", o.instead);
  std::string takers;
  for (const Command& c : commands())
    if ((c.parts & o.parts) != 0) takers += (takers.empty() ? "" : "|") + std::string(c.name);
  return fmt::format("{} is no option of 'llmcalc {}', only of {}; {}", o.flag, command.name, one_of(takers),
                     help_hint(command));
}

Arguments::Arguments(const Command& command, Args args) : command_(command) {
  bool words_only = false;
  for (std::size_t i = 0; i < args.size();) {
    const std::string& a = args[i];
    if (!words_only && a == "--") {
      words_only = true;
      ++i;
    } else if (words_only || !a.starts_with('-') || a == "-") {
      add_word(a);
      ++i;
    } else {
      i += add_option(args, i);
    }
  }
  for (std::size_t i = words_.size(); i < command.words.size(); ++i)
    if (command.words[i].required)
      throw InputError(fmt::format("'llmcalc {}' needs {} ({}); 'llmcalc {} --help' shows an example", command.name,
                                   command.words[i].name, command.words[i].help, command.name));
  if (has("--json") && has("--markdown"))
    throw InputError("--json and --markdown exclude each other; give one of them");
}

void Arguments::add_word(const std::string& word) {
  if (words_.size() == command_.words.size())
    throw InputError(fmt::format("{} is one argument too many for 'llmcalc {}'; its help shows what it takes",
                                 in_quotes(word), command_.name));
  words_.push_back(word);
}

std::size_t Arguments::add_option(Args args, std::size_t i) {
  const std::size_t equals = args[i].find('=');
  const std::string flag = args[i].substr(0, equals);
  const Option* o = option_of(command_, flag);
  if (o == nullptr) refuse_unknown(flag);
  const bool joined = equals != std::string::npos;
  if (o->value.empty()) {
    if (joined) throw InputError(fmt::format("{} takes no value; leave out what follows it", flag));
    add(*o, "");
    return 1;
  }
  if (!joined && i + 1 == args.size())
    throw InputError(fmt::format("{}: expected a value ({}), got nothing", flag, o->value));
  add(*o, joined ? args[i].substr(equals + 1) : args[i + 1]);
  return joined ? 1 : 2;
}

void Arguments::add(const Option& o, std::string text) {
  if (has(o.flag)) throw InputError(fmt::format("{} is given twice; give it once", o.flag));
  const bool read_here = o.field.read == nullptr && !o.value.empty();
  given_.push_back({&o, read_here ? chosen(o, text) : std::move(text)});
}

void Arguments::refuse_unknown(std::string_view flag) const {
  const std::string doubled = "-" + std::string(flag);
  if (option_of(command_, doubled) != nullptr)
    throw InputError(fmt::format("unknown option {}; it is written {}", flag, doubled));
  if (const Option* o = find_option(flag)) throw InputError(elsewhere(command_, *o));
  std::vector<std::string> known;
  for (const Option* o : options_of(command_)) known.emplace_back(o->flag);
  const std::vector<std::string> near = nearest(flag, known, 1);
  throw InputError(fmt::format("unknown option {} for 'llmcalc {}'{}; {}", in_quotes(flag), command_.name,
                               near.empty() ? "" : ", did you mean " + near[0] + "?", help_hint(command_)));
}

std::string Arguments::word(std::string_view name) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (command_.words[i].name == name) return words_[i];
  return "";
}

bool Arguments::has(std::string_view flag) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.option->flag == flag; });
}

std::string Arguments::text(std::string_view flag, std::string_view otherwise) const {
  assert(option_of(command_, flag) != nullptr);
  for (const Given& g : given_)
    if (g.option->flag == flag) return g.text;
  return std::string(otherwise);
}

const Option* Arguments::first_of_plan() const {
  for (const Given& g : given_)
    if (g.option->field.read != nullptr && g.option->parts != part::halves) return g.option;
  return nullptr;
}

void Arguments::apply(Request& r) const { apply(r, command_.parts); }

void Arguments::apply(Request& r, Parts parts) const {
  r.parts = parts;
  for (const Given& g : given_)
    if (g.option->field.read != nullptr) give(r, *g.option, g.text);
  settle(r);
  refuse_ignored(r);
}

Style Arguments::style() const {
  if (has("--json")) return Style::json;
  return has("--markdown") ? Style::markdown : Style::text;
}

}  // namespace llmcalc
