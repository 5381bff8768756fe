#pragma once
/// Products and quotients of expressions, with parentheses if needed.

#include <string>
#include <vector>

namespace llmcalc::explain {

/// "2*a*b". Integers come first; empty factors and "1" are omitted; a sum gets parentheses unless it is the only
/// factor. No factor: "1".
std::string product(const std::vector<std::string>& factors);

/// n/d with parentheses if needed.
std::string ratio(const std::string& n, const std::string& d);

}  // namespace llmcalc::explain
