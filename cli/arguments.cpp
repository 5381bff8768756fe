#include "cli/arguments.hpp"
#include "ask/request/ignored.hpp"
#include "ask/request/settle.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <map>
#include <sstream>

#include "calc/choice.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

const Option* option_of(const Command& command, std::string_view flag) {
  for (const Option* o : options_of(command))
    if (o->flag == flag) return o;
  return nullptr;
}

/// Whether `choice` is one like "cuda:N" and the text is that with a number.
bool is_numbered(std::string_view choice, std::string_view text) {
  if (!choice.ends_with(":N")) return false;
  choice.remove_suffix(1);
  return text.size() > choice.size() && same_spelling(text.substr(0, choice.size()), choice) &&
         text.find_first_not_of("0123456789", choice.size()) == std::string_view::npos;
}

/// The choice among "cpu|cuda|cuda:N" that the text spells; any text for an option that takes any.
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

std::string help_hint(const Command& c) { return fmt::format("'{} --help-all' shows all", invocation(c)); }

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

/// The arguments as CLI11 reads them: last first, "--seq=" as two, since CLI11 takes the next one for an empty value.
std::vector<std::string> from_the_end(Args args) {
  std::vector<std::string> all;
  for (const std::string& a : args) {
    const bool empty_value = a.starts_with("--") && a.find('=') == a.size() - 1;
    all.push_back(empty_value ? a.substr(0, a.size() - 1) : a);
    if (empty_value) all.emplace_back();
  }
  std::reverse(all.begin(), all.end());
  return all;
}

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
  return fmt::format("{} is no option of '{}', only of {}; {}", o.flag, invocation(command), one_of(takers),
                     help_hint(command));
}

Arguments::Arguments(const Command& command, Args args) : command_(command), typed_(args.begin(), args.end()) {
  CLI::App app;
  declare(app, command);
  try {
    app.parse(from_the_end(args));
  } catch (const CLI::ArgumentMismatch&) {  // any argument is taken as a value, so only the last option can lack one
    throw InputError(
        fmt::format("{}: expected a value ({}), got nothing", args.back(), option_of(command, args.back())->value));
  }
  refuse_extras(app.remaining());
  std::map<const CLI::Option*, std::size_t> seen;  // a word that repeats stands once for each of its results
  for (const CLI::Option* given : app.parse_order()) add(given->get_name(), given->results()[seen[given]++]);
  for (std::size_t i = words_.size(); i < command.words.size(); ++i)
    if (command.words[i].required)
      throw InputError(fmt::format("'{}' needs {} ({}); '{} --help' shows an example", invocation(command),
                                   command.words[i].name, command.words[i].help, invocation(command)));
  if (has("--json") && has("--markdown"))
    throw InputError("--json and --markdown exclude each other; give one of them");
  if (has("--json") && has("--exact")) throw InputError("--json is always exact; leave --exact out");
}

void Arguments::refuse_extras(const std::vector<std::string>& extras) const {
  for (const std::string& extra : extras) {
    if (extra == "--") continue;
    if (extra.starts_with('-') && extras.front() != "--") refuse_unknown(extra.substr(0, extra.find('=')));
    throw InputError(fmt::format("{} is one argument too many for '{}'; its help shows what it takes", in_quotes(extra),
                                 invocation(command_)));
  }
}

void Arguments::add(const std::string& name, const std::string& text) {
  const Option* o = option_of(command_, name);
  if (o == nullptr) return words_.push_back(text);
  if (has(name)) throw InputError(fmt::format("{} is given twice; give it once", name));
  if (o->value.empty() && text != "true")  // CLI11's text for a flag without a value
    throw InputError(fmt::format("{} takes no value; leave out what follows it", name));
  given_.push_back({o, o->field.read == nullptr && !o->value.empty() ? chosen(*o, text) : text});
}

void Arguments::refuse_unknown(std::string_view flag) const {
  const std::string doubled = "-" + std::string(flag);
  if (option_of(command_, doubled) != nullptr)
    throw InputError(fmt::format("unknown option {}; it is written {}", flag, doubled));
  if (const Option* o = find_option(flag)) throw InputError(elsewhere(command_, *o));
  std::vector<std::string> known;
  for (const Option* o : options_of(command_)) known.emplace_back(o->flag);
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

void Arguments::apply(Request& r) const { apply(r, command_.parts); }

void Arguments::apply(Request& r, Parts parts) const {
  r.parts = parts;
  for (const Given& g : given_)
    if (g.option->field.read != nullptr) give(r, *g.option, g.text);
  settle(r);
  refuse_ignored(r);
}

Screen Arguments::screen() const {
  const Style style = has("--json") ? Style::json : has("--markdown") ? Style::markdown : Style::text;
  return {style, output_columns(), output_colour(), has("--exact")};
}

}  // namespace llmcalc
