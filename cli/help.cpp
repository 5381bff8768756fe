#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "ask/request/options/options.hpp"
#include "calc/links/collective.hpp"
#include "cli/output.hpp"
#include "presets/builtin.hpp"
#include "report/render/lines.hpp"
#include "report/schema/named_schema.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t help_column = 27;

std::string row(std::string_view left, std::string_view help) {
  const std::string first = fmt::format("  {:<{}}", left, help_column - 2);
  if (left.size() + 4 <= help_column) return wrapped(first, help, output_columns());
  return fmt::format("  {}\n{}", left, wrapped(std::string(help_column, ' '), help, output_columns()));
}

std::string option_row(const Option& o) {
  return row(o.value.empty() ? std::string(o.flag) : fmt::format("{} {}", o.flag, o.value), o.help);
}

std::string words_help(const Command& c) {
  std::string s;
  for (const Word& w : c.words) s += row(w.name, w.help);
  return s.empty() ? s : s + "\n";
}

/// Help rows of all options, or only of the common ones. Adds the number of omitted options to `hidden`.
std::string option_rows(std::span<const Option> options, const Command& c, bool all, std::size_t& hidden) {
  std::string rows;
  for (const Option& o : options) {
    if ((o.parts & c.parts) == 0) continue;
    if (all || o.common)
      rows += option_row(o);
    else
      ++hidden;
  }
  return rows;
}

/// A command's own options, then the options of the table by topic.
std::string options_help(const Command& c, bool all) {
  std::string s;
  std::size_t hidden = 0;
  for (const Option& o : c.own) s += option_row(o);
  if (!s.empty()) s = "Options:\n" + s;
  for (const Topic& t : topics())
    if (const std::string rows = option_rows(t.options, c, all, hidden); !rows.empty())
      s += fmt::format("{}{}:\n{}", s.empty() ? "" : "\n", t.title, rows);
  return hidden == 0 ? s : s + fmt::format("\n{} more options: {} --help-all\n", hidden, invocation(c));
}

// ---- The manual

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c;
  }
  return out;
}

std::string manual_row(const Option& o) {
  if (o.value.empty()) return fmt::format(".TP\n.B {}\n{}\n", escaped(o.flag), escaped(o.help));
  const bool choice = o.value.find('|') != std::string_view::npos;
  return fmt::format(".TP\n.{} {} \" {}\"\n{}\n", choice ? "BR" : "BI", escaped(o.flag), escaped(o.value),
                     escaped(o.help));
}

// ---- Completion

std::string_view first_sentence(std::string_view help) { return help.substr(0, help.find(" [")); }

/// The choices of "cpu|cuda|cuda:N", one per line. Omits numbers and lists, which a shell cannot complete.
std::string candidates(std::string_view listed) {
  std::string out;
  std::istringstream choices{std::string(listed)};
  for (std::string one; std::getline(choices, one, '|');)
    if (one.find(':') == std::string::npos) out += one + "\n";
  return out;
}

std::string schema_candidates() {
  std::string out;
  for (const std::string& name : schema_names(commands())) out += name + "\n";
  return out;
}

std::string preset_names(std::span<const Builtin> presets) {
  std::string out;
  for (const Builtin& b : presets) out += fmt::format("{}\t{}\n", b.name, b.title);
  return out;
}

/// Completions of an option's value, by value name (MODEL); empty for a file, which the shell completes.
std::string values_of(std::string_view value_name) {
  if (value_name == "MODEL") return preset_names(builtin_models());
  if (value_name == "HW") return preset_names(builtin_hardware());
  if (value_name == "NAME") return preset_names(builtin_models()) + preset_names(builtin_hardware());
  if (value_name == "SCHEMA") return schema_candidates();
  if (value_name == "KIND") return candidates("training|memory|inference|serving");
  if (value_name == "COMMAND") return candidates("params|memory|flops|train|infer|report|serve");
  if (value_name == "OP") return candidates(choice_names<CollectiveOp>);
  if (value_name == "F")
    return std::accumulate(formats.begin(), formats.end(), std::string(), [](std::string all, const Format& f) {
      return std::move(all) + fmt::format("{}\t{}\n", f.name, f.note);
    });
  return value_name.find('|') == std::string_view::npos ? "" : candidates(value_name);
}

std::string option_candidates(const Command& c) {
  std::string out;
  for (const Option* o : options_of(c)) out += fmt::format("{}\t{}\n", o->flag, first_sentence(o->help));
  return out;
}

std::string command_candidates() {
  std::string out;
  for (const Command& c : commands()) out += fmt::format("{}\t{}\n", c.name, c.summary);
  return out;
}

/// Position of the last of `words` among the positional arguments, from 0.
std::size_t place_of_last(const Command& c, Args words) {
  std::size_t place = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto all = options_of(c);
    const auto it = std::find_if(all.begin(), all.end(), [&](const Option* o) { return o->flag == words[i]; });
    if (it != all.end())
      i += (*it)->value.empty() ? 0 : 1;
    else
      ++place;
  }
  return place;
}

}  // namespace

namespace {

/// A heading of the help, and the commands under it.
struct CommandGroup {
  std::string_view question;
  std::array<std::string_view, 7> commands;
};
constexpr std::array groups{
    CommandGroup{"How large is it?", {"params", "memory", "flops"}},
    CommandGroup{"How fast, and at what cost?", {"train", "infer", "serve", "report"}},
    CommandGroup{"Which plan, device or model?", {"plan", "fit", "compare", "sweep", "scaling", "collective"}},
    CommandGroup{"Why, and is it true?", {"explain", "accuracy", "validate", "diagnose", "calibrate", "check"}},
    CommandGroup{"Presets and files", {"list", "show", "import", "schema", "mcp"}},
    CommandGroup{"The reference transformer", {"learn", "generate", "perplexity"}}};

std::string group_help(const CommandGroup& g) {
  std::string s = fmt::format("\n{}\n", g.question);
  for (const Command& c : commands())
    if (std::find(g.commands.begin(), g.commands.end(), c.name) != g.commands.end())
      s += fmt::format("  {:<11}{:<25} {}\n", c.name, c.arguments, c.summary);
  return s;
}

}  // namespace

std::string program_help() {
  std::string s = "llmcalc: parameters, memory, FLOPs, time and cost of language models\n";
  for (const CommandGroup& g : groups) s += group_help(g);
  return s +
         "\n  MODEL  a preset ('llmcalc list models'), a hub id, an Ollama tag, a file\n"
         "         (config.json, GGUF, safetensors: its header is read), or a folder\n"
         "  HW     a preset ('llmcalc list hardware') or a hardware file\n"
         "\n  llmcalc COMMAND --help shows a command's options.\n";
}

std::string command_help(const Command& c, bool all) {
  return fmt::format("usage: {} {} [options]\n\n{}\nExamples:\n{}\n\n{}{}", invocation(c), c.arguments,
                     wrapped("", c.about, output_columns()), c.examples, words_help(c), options_help(c, all));
}

std::string manual_options() {
  std::string s =
      ".SH OPTIONS\nDefaults are in brackets. Each command accepts only the options that apply to it;\n.B llmcalc\n"
      ".I COMMAND\n.B \\-\\-help\\-all\nlists them.\n";
  for (const Topic& t : topics()) {
    s += fmt::format(".SS {}\n", t.title);
    for (const Option& o : t.options) s += manual_row(o);
  }
  for (const Command& c : commands()) {
    if (!c.own.empty()) s += fmt::format(".SS llmcalc {}\n", c.name);
    for (const Option& o : c.own) s += manual_row(o);
  }
  return s;
}

std::string completions(Args words) {
  if (words.size() <= 1) return command_candidates();
  const auto all = commands();
  const auto c = std::find_if(all.begin(), all.end(), [&](const Command& x) { return x.name == words[0]; });
  if (c == all.end()) return "";
  if (words.back().starts_with("-")) return option_candidates(*c);
  for (const Option* o : options_of(*c))
    if (o->flag == words[words.size() - 2] && !o->value.empty()) return values_of(o->value);
  const std::size_t place = place_of_last(*c, words.subspan(1));
  return place < c->words.size() ? values_of(c->words[place].name) : "";
}

}  // namespace llmcalc
