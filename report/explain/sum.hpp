#pragma once
/// Products and quotients of expressions, with parentheses if needed.

#include <string>
#include <vector>

namespace llmcalc::explain {

/// The product as text: "2*a*b". Integer factors come first; empty factors and "1" are omitted; a sum gets
/// parentheses unless it is the only factor. Without factors: "1".
std::string product(const std::vector<std::string>& factors);

/// The quotient n/d as text, with parentheses if needed.
std::string ratio(const std::string& n, const std::string& d);

}  // namespace llmcalc::explain
