#include "report/render/lines.hpp"

#include <algorithm>

namespace llmcalc {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string flush_left(std::string_view text, std::size_t columns) {
  return std::string(text).append(columns - std::min(columns, columns_of(text)), ' ');
}
std::string flush_right(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, columns_of(text)), ' ').append(text);
}

namespace {

/// The longest prefix of a formula without spaces that fits in a line and ends at an operator; the whole word if
/// there is no such prefix.
std::string_view first_part(std::string_view word, std::size_t columns) {
  if (columns_of(word) <= columns || word.find('(') == std::string_view::npos) return word;
  const std::size_t at = word.substr(0, columns).find_last_of("*/(");
  return at == std::string_view::npos || at == 0 ? word : word.substr(0, at + 1);
}

}  // namespace

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return {std::string(text)};
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t begin =
        lines.back().empty() ? std::min(text.find_first_not_of(' '), text.size()) : 0;  // keeps an indent
    const std::string_view whole = text.substr(0, text.find(' ', begin)), word = first_part(whole, columns);
    text.remove_prefix(std::min(text.size(), word.size() + (word.size() == whole.size() ? 1 : 0)));
    if (!lines.back().empty() && columns_of(lines.back()) + 1 + columns_of(word) > columns) lines.emplace_back();
    lines.back().append(lines.back().empty() ? "" : " ").append(word);
  }
  return lines;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t columns) {
  const std::size_t indent = columns_of(first);
  std::string out, begin(first);
  for (const std::string& line : broken(text, columns - std::min(columns, indent))) {
    begin += line;
    out += begin.substr(0, begin.find_last_not_of(' ') + 1) + "\n";
    begin.assign(indent, ' ');
  }
  return out;
}

}  // namespace llmcalc
