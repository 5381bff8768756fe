#pragma once
/// Products and quotients of texts, with parentheses where they are needed.

#include <string>
#include <vector>

namespace llmcalc::explain {

/// "2*a*b". Whole numbers come first; factors that are empty or "1" are left out; a sum that is not alone gets its
/// parentheses. No factor: "1".
std::string product(const std::vector<std::string>& factors);

/// n/d with parentheses where they are needed.
std::string ratio(const std::string& n, const std::string& d);

}  // namespace llmcalc::explain
