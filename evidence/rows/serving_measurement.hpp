#pragma once
/// A recorded server run as JSON: the equivalent request, and the recorded requests one by one.
///
///   { "id", "family"?, "quality"?, "source"?, "command": "serve", "model", "hardware", "inputs"?, "engine"?,
///     "limits"? (see evidence/rows/inference_measurement.hpp), "requests": [...], "per_second"?: {...} (see
///     evidence/rows/recorded.hpp), "assumed"?, "input_assumed"?, "left_out"?: {"row"}, "devices"?, "stated"? }

#include "evidence/rows/run_case.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A recorded run as JSON, with the source's own keys under "stated".
json::Value serving_measurement_json(const RunCase& c, const json::Value& stated);

/// Reads a recorded run; `where` names file, line and row for messages. Throws InputError.
RunCase read_serving_measurement(const json::Object& row, const std::string& where);

}  // namespace llmcalc
