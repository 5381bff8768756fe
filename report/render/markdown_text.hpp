#pragma once
/// Texts in Markdown.

#include <string>
#include <string_view>

namespace llmcalc {

/// A text in Markdown, where `<` would begin a tag.
std::string markdown_text(std::string_view text);

}  // namespace llmcalc
