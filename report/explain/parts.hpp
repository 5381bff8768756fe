#pragma once
/// Long expressions made readable: what stands in parentheses gets a name, "L*P_1 + V*D where P_1 = ...".

#include <string>
#include <utility>
#include <vector>

namespace llmcalc::explain {

struct NamedParts {
  std::string expression;
  std::vector<std::pair<std::string, std::string>> named;  ///< "P_1" and what it is
};

/// The expression as it is where it has at most `longest` characters; else parts of it are named, those that come twice
/// and the longest first, until it and they are that short or hold nothing more to name.
NamedParts with_parts(std::string expression, std::size_t longest);

/// "4096*16384" -> "4,096*16,384": whole numbers of five digits and more.
std::string with_separators(const std::string& text);

}  // namespace llmcalc::explain
