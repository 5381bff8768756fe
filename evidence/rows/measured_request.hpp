#pragma once
/// Request of a measurement: "model", "hardware" and "inputs" of its JSON.

#include <string>

#include "ask/request/request.hpp"
#include "evidence/rows/machine.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct MeasuredRequest {
  Request request;  ///< the request with all defaults filled in
  RowMachine machine;
};

/// Reads the three keys, and sets the head's model to the model's name if it has one. Throws InputError.
MeasuredRequest read_measured_request(const json::Object& row, Parts parts, MeasurementHead& head);

/// Writes the three keys. Returns the request that a reader of these keys would get, so that callers can find remaining
/// differences.
Request write_measured_request(json::Value& row, const MeasurementHead& head, const Request& r, const std::string& like,
                               json::Value inputs);

/// The layout with `etp` reset to its default if the default results in the same number of ranks.
Layout canonical(Layout l);

}  // namespace llmcalc
