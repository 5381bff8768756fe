#pragma once
/// The request of a measurement: "model", "hardware" and "inputs" of its JSON.

#include <string>

#include "ask/request/request.hpp"
#include "evidence/rows/machine.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct MeasuredRequest {
  Request request;  ///< settled
  RowMachine machine;
};

/// Reads the three keys; the head's model is the name of the model. Throws InputError.
MeasuredRequest read_measured_request(const json::Object& row, Parts parts, MeasurementHead& head);

/// Writes them. Returns the request that reading them gives, by which callers see what else a case has.
Request write_measured_request(json::Value& row, const MeasurementHead& head, const Request& r, const std::string& like,
                               json::Value inputs);

/// The layout with the default number of ranks of an expert where it has that number.
Layout canonical(Layout l);

}  // namespace llmcalc
