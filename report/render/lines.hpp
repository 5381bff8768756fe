#pragma once
/// Lines of text for a screen: how many columns they take, padding, and breaks between words.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Columns on display: UTF-8 continuation bytes take none.
std::size_t columns_of(std::string_view text);

std::string flush_left(std::string_view text, std::size_t columns);
std::string flush_right(std::string_view text, std::size_t columns);

/// `text` in lines of at most `columns`, broken between words. A longer word is a line of its own,
/// a longer formula is broken behind its operators.
std::vector<std::string> broken(std::string_view text, std::size_t columns);

/// `first` and `text`, broken; further lines of `text` begin where its first line does.
std::string wrapped(std::string_view first, std::string_view text, std::size_t columns);

}  // namespace llmcalc
