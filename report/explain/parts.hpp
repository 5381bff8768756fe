#pragma once
/// Makes long expressions readable: names the contents of parentheses, "L*P_1 + V*D where P_1 = ...".

#include <string>
#include <utility>
#include <vector>

namespace llmcalc::explain {

struct NamedParts {
  std::string expression;
  std::vector<std::pair<std::string, std::string>> named;  ///< names such as "P_1", and their expressions
};

/// The unchanged expression if it has at most `longest` characters. Otherwise names parts of it, repeated and long ones
/// first, until the expression and its parts are short enough or have no more parts to name.
NamedParts with_parts(std::string expression, std::size_t longest);

/// Adds separators to integers with at least five digits: "16384*D" becomes "16,384*D".
std::string with_separators(const std::string& text);

}  // namespace llmcalc::explain
