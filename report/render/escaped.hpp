#pragma once
/// Text for HTML and SVG.

#include <string>
#include <string_view>

namespace llmcalc {

/// The characters <, >, &, " and ' replaced by entities: valid as text and in a quoted attribute.
std::string escaped(std::string_view text);

}  // namespace llmcalc
