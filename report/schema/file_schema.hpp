#pragma once
/// JSON Schemas of files that the program reads and prints: models, hardware, software, measurements.

#include <span>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc {

/// Names of files with a schema of their own.
std::span<const std::string_view> file_schema_names();

/// The schema of a kind of file, without its head. Precondition: a name in file_schema_names(), "estimates" or "row".
json::Value file_form(std::string_view kind);

}  // namespace llmcalc
