#pragma once
/// Parts that all JSON Schemas of the program share.

#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc {

/// "$schema", "$id" and "title" of the schema `name`. The id has the version of the JSON (report_schema).
json::Value schema_head(std::string_view name, std::string title);

/// A value of any type but null: unknown or inapplicable values are absent.
json::Value scalar();

}  // namespace llmcalc
