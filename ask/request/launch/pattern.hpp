#pragma once
/// Text patterns with named gaps: "uniform:{n}".

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace llmcalc {

/// The text in each gap, by the name of the gap.
using Gaps = std::map<std::string, std::string, std::less<>>;

/// Fills `gaps` from text that the pattern matches; false if it does not match, or differs in a gap filled before. A
/// gap cannot contain ':' or ','.
bool match(std::string_view pattern, std::string_view text, Gaps& gaps);

/// The pattern with its gaps filled.
std::string filled(std::string_view pattern, const Gaps& gaps);

}  // namespace llmcalc
