#pragma once
/// JSON Schema of all --json output: every key once, with its meaning, type and unit.

#include "text/json.hpp"

namespace llmcalc {

json::Value report_json_schema();

}  // namespace llmcalc
