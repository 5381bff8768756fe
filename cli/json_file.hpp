#pragma once
/// Files that commands write for other commands to read.

#include <string>

#include "text/json.hpp"

namespace llmcalc {

/// Writes a file completely or not at all. Throws InputError.
void write_json(const std::string& path, const json::Value& value);

/// Today's date in UTC: "2026-11-23".
std::string today();

}  // namespace llmcalc
