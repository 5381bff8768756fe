#pragma once
/// Markdown escaping.

#include <string>
#include <string_view>

namespace llmcalc {

/// Escapes `<`, which would begin a tag.
std::string markdown_text(std::string_view text);

}  // namespace llmcalc
