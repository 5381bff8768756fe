#include "ask/request/launch/pattern.hpp"

#include <algorithm>

namespace llmcalc {

bool match(std::string_view pattern, std::string_view text, Gaps& gaps) {
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == text;
  const std::size_t close = pattern.find('}', open);
  if (close == std::string_view::npos || text.substr(0, open) != pattern.substr(0, open)) return false;
  const std::string_view name = pattern.substr(open + 1, close - open - 1), after = pattern.substr(close + 1);
  text.remove_prefix(open);
  const std::size_t end = after.empty() ? text.size() : std::min(text.find(after.front()), text.size());
  const std::string_view gap = text.substr(0, end);
  if (gap.empty() || gap.find_first_of(":,") != std::string_view::npos) return false;
  const auto [known, fresh] = gaps.emplace(name, gap);
  return (fresh || known->second == gap) && match(after, text.substr(end), gaps);
}

std::string filled(std::string_view pattern, const Gaps& gaps) {
  std::string s;
  while (true) {
    const std::size_t open = pattern.find('{');
    const std::size_t close = open == std::string_view::npos ? open : pattern.find('}', open);
    if (close == std::string_view::npos) return s + std::string(pattern);
    const auto gap = gaps.find(pattern.substr(open + 1, close - open - 1));
    s += pattern.substr(0, open);
    s += gap == gaps.end() ? pattern.substr(open, close + 1 - open) : std::string_view(gap->second);
    pattern.remove_prefix(close + 1);
  }
}

}  // namespace llmcalc
