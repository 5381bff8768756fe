#pragma once
/// Options of a request as JSON: the keys under "inputs" of every answer, read back.

#include "ask/request/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Reads each input into the request as if it had been typed: quantities as numbers in base units or as text. Throws
/// InputError for a key that is no option of the request's parts, with the nearest keys, and for a value that the
/// option does not take.
void read_inputs(Request& r, const json::Value& inputs, const std::string& where);

}  // namespace llmcalc
