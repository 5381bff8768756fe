#pragma once
/// JSON Schemas by name.

#include <span>
#include <string>
#include <vector>

#include "report/commands/command.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Names of all schemas: commands that print JSON, then requests, errors and files.
std::vector<std::string> schema_names(std::span<const Command> commands);

/// The schema of this name. Throws InputError, with the nearest name, if there is none.
json::Value named_schema(const std::string& name, std::span<const Command> commands);

}  // namespace llmcalc
