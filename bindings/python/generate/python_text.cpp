#include "bindings/python/generate/python_text.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "ask/request/options/options.hpp"
#include "report/render/lines.hpp"
#include "text/json.hpp"

namespace llmcalc::python {
namespace {

/// Keywords of Python 3.
constexpr std::array keywords{"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
                              "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
                              "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
                              "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

bool is_flag_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

/// A line broken at 100 columns; continuations of an indented line have more indentation.
std::string docstring_lines(const std::string& margin, const std::string& line) {
  constexpr std::size_t columns = 100, more = 4;
  const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
  std::string out, begin = margin + std::string(own, ' ');
  for (const std::string& part : broken(line.substr(own), columns - begin.size() - more)) {
    out += begin + part + "\n";
    begin = margin + std::string(own == 0 ? 0 : own + more, ' ');
  }
  return out;
}

}  // namespace

std::string python_name(std::string_view key) {
  std::string name(key);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return std::find(keywords.begin(), keywords.end(), name) == keywords.end() ? name : name + "_";
}

std::string literal(std::string_view text) { return json::Value(text).dump(); }

std::string with_input_names(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t end = text.starts_with("--") ? 2 : 0;
    while (end >= 2 && end < text.size() && is_flag_character(text[end])) ++end;
    const Option* option = end > 2 ? find_option(text.substr(0, end)) : nullptr;
    if (option != nullptr)
      out += python_name(option->key());
    else
      out += text.substr(0, std::max<std::size_t>(end, 1));
    text.remove_prefix(std::max<std::size_t>(end, 1));
  }
  return out;
}

std::string docstring(const std::string& text, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::istringstream lines(with_input_names(text));
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.empty() ? "\n" : docstring_lines(margin, line);
  std::string escaped;
  for (const char c : out) escaped += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
  return margin + "\"\"\"" + escaped.substr(std::min(indent, escaped.size())) + margin + "\"\"\"\n";
}

}  // namespace llmcalc::python
