#pragma once
/// Rows of a file: the elements of a JSON array, one JSON object, or JSON Lines.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// Calls `read` with each row and its line, from 1. `where` names the text. Throws InputError for a text without rows.
void for_each_row(std::string_view text, const std::string& where,
                  const std::function<void(const json::Value& row, Count line)>& read);

/// Lines from 1 on which the elements of the outermost array of a JSON text begin.
std::vector<Count> element_lines(std::string_view text);

}  // namespace llmcalc
