#include "report/explain/parts.hpp"

#include <algorithm>
#include <cctype>

#include "report/explain/formula.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

void replace_all(std::string& text, const std::string& part, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size())
    text.replace(at, part.size(), by);
}

/// Every "(...)" except function arguments, with its parentheses.
std::vector<std::string> groups(const std::string& text) {
  std::vector<std::string> all;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') open.push_back(i);
    if (text[i] != ')' || open.empty()) continue;
    const std::size_t from = open.back();
    open.pop_back();
    if (from == 0 || !in_word(text[from - 1])) all.push_back(text.substr(from, i + 1 - from));
  }
  return all;
}

/// The group that saves the most characters if a name replaces it; excludes short groups and groups with indexed
/// symbols of a sum.
std::string best_group(const std::string& text) {
  std::string best;
  std::size_t most = 0;
  for (const std::string& g : groups(text)) {
    const bool indexed = g.find("_i") != std::string::npos || g.find("_j") != std::string::npos;
    if (g.size() < 20 || indexed) continue;
    const std::size_t saved = g.size() * count_of(text, g);
    if (saved <= most) continue;
    most = saved;
    best = g;
  }
  return best;
}

}  // namespace

NamedParts with_parts(std::string expression, std::size_t longest) {
  NamedParts all{std::move(expression), {}};
  const auto shorten = [&](std::size_t which) {
    const auto text = [&]() -> std::string& { return which == 0 ? all.expression : all.named[which - 1].second; };
    while (text().size() > longest) {
      const std::string group = best_group(text());
      if (group.empty()) return;
      const std::string name = "P_" + std::to_string(all.named.size() + 1);
      replace_all(text(), group, name);
      all.named.emplace_back(name, group.substr(1, group.size() - 2));
    }
  };
  for (std::size_t i = 0; i <= all.named.size(); ++i) shorten(i);
  return all;
}

std::string with_separators(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const bool inside = i > 0 && (in_word(text[i - 1]) || text[i - 1] == '.');
    const bool goes_on = end < text.size() && (in_word(text[end]) || text[end] == '.');
    const std::string digits = text.substr(i, end - i);
    out += digits.size() >= 5 && !inside && !goes_on ? grouped_digits(digits) : digits;
    i = end;
  }
  return out;
}

}  // namespace llmcalc::explain
