#include "report/explain/sum.hpp"

#include <algorithm>

namespace llmcalc::explain {
namespace {

/// Whether there is a + or - outside all parentheses.
bool is_sum(const std::string& s) {
  int depth = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(') ++depth;
    if (s[i] == ')') --depth;
    if (depth == 0 && i > 0 && s[i - 1] == ' ' && (s[i] == '+' || s[i] == '-')) return true;
  }
  return false;
}
bool is_compound(const std::string& s) { return s.find_first_of("*/ ") != std::string::npos; }

/// Length of the integer at the start of a product: 2 for "16*D", 0 for "2^3" and "D".
std::size_t leading_number(const std::string& s) {
  const std::size_t n = std::min(s.find_first_not_of("0123456789"), s.size());
  return n == s.size() || s[n] == '*' ? n : 0;
}

}  // namespace

std::string product(const std::vector<std::string>& factors) {
  const auto counts = [](const std::string& f) { return !f.empty() && f != "1"; };
  const bool alone = std::count_if(factors.begin(), factors.end(), counts) == 1;
  std::string number, s;
  const auto times = [](std::string& to, const std::string& f) {
    if (!to.empty()) to += '*';
    to += f;
  };
  for (const std::string& f : factors) {
    if (!counts(f)) continue;
    const std::size_t n = is_sum(f) ? 0 : leading_number(f);
    if (n > 0) times(number, f.substr(0, n));
    if (n < f.size()) times(s, is_sum(f) && !alone ? "(" + f + ")" : f.substr(n == 0 ? 0 : n + 1));
  }
  if (!number.empty() && !s.empty()) return number + "*" + s;
  if (number.empty() && s.empty()) return "1";
  return number.empty() ? s : number;
}

std::string ratio(const std::string& n, const std::string& d) {
  return (is_sum(n) ? "(" + n + ")" : n) + "/" + (is_compound(d) ? "(" + d + ")" : d);
}

}  // namespace llmcalc::explain
