#pragma once
/// Lines of text for a screen: column counts, padding, and line breaks.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Displayed columns; UTF-8 continuation bytes count as 0.
std::size_t columns_of(std::string_view text);

std::string flush_left(std::string_view text, std::size_t columns);
std::string flush_right(std::string_view text, std::size_t columns);

/// `text` in lines of at most `columns`, broken between words. A longer word gets a separate line; a longer formula is
/// broken after its operators.
std::vector<std::string> broken(std::string_view text, std::size_t columns);

/// `first` followed by `text`, broken into lines; continuation lines are aligned with the start of `text`.
std::string wrapped(std::string_view first, std::string_view text, std::size_t columns);

}  // namespace llmcalc
