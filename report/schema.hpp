#pragma once
/// The JSON Schema of everything that --json prints: every key once, with its meaning, type and unit.

#include "text/json.hpp"

namespace llmcalc {

json::Value report_json_schema();

}  // namespace llmcalc
