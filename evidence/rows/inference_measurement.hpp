#pragma once
/// An inference measurement as JSON: the equivalent request and the measured values.
///
///   { "id", "family"?, "quality"?, "source"?, "command": "infer", "model", "hardware" (see
///     evidence/rows/training_measurement.hpp), "inputs"?: {options of infer by their JSON keys},
///     "engine"?: a name, or {"name", "version"?, "eager"?, "known"?: false},
///     "load"?: {"kind"?: "static"|"concurrency"|"max-inflight"|"capacity"|"throughput", "batch"?, "prompt"?,
///               "generate"?, "cached"?, "cache_room"?, "decode_context"?, "decode_window"?, "length_ratio"?,
///               "requests"?, "nodes"?},
///     "weights"?: {"bits_per_weight"?, "bytes"?, "name"?}, "limits"?: {"pass_tokens", "sequences", "block_tokens"},
///     "granted_bytes"?, "measured": {a figure's key: value in the key's unit}, "doubts"?: {key: reason},
///     "assumed"?, "input_assumed"?, "work_assumed"?, "left_out"?: {"row"}, "devices"?, "stated"? }
///
/// Lengths in "load" are mean tokens and may be fractional; lengths in "inputs" are integers. Keys of figures:
/// evidence/rows/figure.cpp. "cached": cached tokens of a sequence before its prompt; "cache_room": cache capacity per
/// sequence in tokens; "length_ratio": lengths are uniform between this fraction of the nominal length and the nominal
/// length; "granted_bytes": bytes of a device that the engine may use.

#include "evidence/rows/inference_case.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// An inference row as JSON, with the source's own keys under "stated".
json::Value inference_measurement_json(const InferenceCase& c, const json::Value& stated);

/// Reads an inference row; `where` names file, line and row for messages. Throws InputError.
InferenceCase read_inference_measurement(const json::Object& row, const std::string& where);

}  // namespace llmcalc
