#pragma once
/// Rows of a file: elements of a JSON array, one JSON object, or JSON Lines.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// Calls `read` with each row and its line number, from 1. `where` names the text in errors. Throws InputError if there
/// are no rows.
void for_each_row(std::string_view text, const std::string& where,
                  const std::function<void(const json::Value& row, Count line)>& read);

/// Line numbers, from 1, at which elements of a JSON text's outermost array begin.
std::vector<Count> element_lines(std::string_view text);

}  // namespace llmcalc
