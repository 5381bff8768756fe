#include "bindings/python/generate/functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bindings/python/generate/python_text.hpp"
#include "report/commands/asked.hpp"

namespace llmcalc::python {
namespace {

/// A parameter of a function.
struct Parameter {
  std::string key, type, help;
  bool is_word = false, required = false, repeats = false;
};

/// "op|step" as a literal type; empty if the value is not a choice of names.
std::string choice_type(std::string_view value) {
  std::string names;
  for (std::size_t begin = 0; value.find('|') != std::string_view::npos && begin <= value.size();) {
    const std::size_t end = std::min(value.find('|', begin), value.size());
    const std::string_view one = value.substr(begin, end - begin);
    if (one.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_+") != std::string_view::npos) return "";
    names += (names.empty() ? "" : ", ") + literal(one);
    begin = end + 1;
  }
  return names.empty() ? "" : fmt::format("Literal[{}]", names);
}

std::string input_type(const Option& o) {
  if (o.flag == "--hardware") return "Hardware";
  if (o.value.empty()) return "bool";
  if (o.has_optional_value()) return "Union[bool, str]";
  const std::string choices = choice_type(o.value);
  return choices.empty() ? "Input" : choices;
}

std::string word_type(const Word& w, bool compares) {
  if (w.name == "MODEL" || w.name == "CONFIG") return "Model";
  if (compares) return "Union[Answer, Mapping[str, Any]]";
  const std::string choices = choice_type(w.name);
  if (!choices.empty()) return choices;
  return w.name == "LOG" ? "Union[str, PathLike[str]]" : "str";
}

/// `compares`: whether the words are requests, any number of them.
Parameter parameter_of(const Word& w, bool compares) {
  return {.key = w.name == "CONFIG" ? "model" : w.request_key(),
          .type = word_type(w, compares),
          .help = std::string(w.help),
          .is_word = true,
          .required = w.required,
          .repeats = compares};
}

std::vector<Parameter> parameters_of(const Command& c) {
  std::vector<Parameter> all;
  for (const Word& w : c.words) all.push_back(parameter_of(w, c.answer == nullptr));
  for (const Option* o : asked_options(c)) {
    const std::string value = o->flag.starts_with("--no-") ? "False: "
                              : o->value.empty()           ? ""
                                                           : fmt::format("{}: ", o->value);
    all.push_back({.key = o->key(), .type = input_type(*o), .help = value + std::string(o->help)});
  }
  return all;
}

std::string documentation(const Command& c, const std::vector<Parameter>& parameters) {
  std::string text = std::string(c.about) + "\n\nInputs:\n";
  for (const Parameter& p : parameters) text += fmt::format("  {}: {}\n", python_name(p.key), p.help);
  return text;
}

std::string listed(const std::vector<Parameter>& parameters, bool words, bool required) {
  std::string names;
  for (const Parameter& p : parameters)
    if (p.is_word == words && (!words || p.required == required)) names += literal(p.key) + ", ";
  return "(" + names + ")";
}

std::string function(const Command& c) {
  const std::vector<Parameter> all = parameters_of(c);
  const bool repeats = !all.empty() && all[0].repeats;
  const std::string name = python_name(c.name);
  if (repeats)
    return fmt::format("{0} = sides_function({1}, {2},\n{3})\n\n", name, literal(name), literal(c.name),
                       docstring(documentation(c, all), 4));
  return fmt::format("{} = function({}, {}, {}, {},\n    {},\n{})\n\n", name, literal(name), literal(c.name),
                     listed(all, true, true), listed(all, true, false), listed(all, false, false),
                     docstring(documentation(c, all), 4));
}

std::string stub_parameter(const Parameter& p) {
  if (p.required) return fmt::format("{}: {}", python_name(p.key), p.type);
  return fmt::format("{}: Optional[{}] = ...", python_name(p.key), p.type);
}

std::string stub(const Command& c) {
  const std::vector<Parameter> all = parameters_of(c);
  std::string parameters;
  bool is_keyword = false;
  for (const Parameter& p : all) {
    if (!p.is_word && !std::exchange(is_keyword, true)) parameters += "    *,\n";
    parameters += "    " + (p.repeats ? "*" + python_name(p.key) + ": " + p.type : stub_parameter(p)) + ",\n";
  }
  return fmt::format("def {}(\n{}) -> Answer:\n{}    ...\n\n", python_name(c.name), parameters,
                     docstring(documentation(c, all), 4));
}

}  // namespace

std::string functions_module() {
  std::string text =
      "# Written by the build from the tables of commands and options.\n"
      "from ._functions import function, sides_function\n\n";
  std::string names;
  for (const Command& c : asked_commands()) {
    text += function(c);
    names += (names.empty() ? "" : ", ") + literal(python_name(c.name));
  }
  return text + "__all__ = [" + names + "]\n";
}

std::string function_stubs() {
  std::string text;
  for (const Command& c : asked_commands()) text += stub(c);
  return text;
}

}  // namespace llmcalc::python
