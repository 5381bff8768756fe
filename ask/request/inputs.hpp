#pragma once
/// Reads options of a request from JSON: the keys under "inputs" of every answer.

#include <optional>
#include <string>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Text of an input in option syntax. Absent for a flag that is off. Throws InputError for JSON that no option
/// accepts.
std::optional<std::string> input_text(const Option& o, const json::Value& v, const std::string& where);

/// The formats, omitting components that have no weights in the model. Returns other values unchanged.
json::Value present_components(json::Value formats, const Arch& arch);

/// Reads each input into the request as if it had been typed: quantities are numbers in base units, or text with a
/// unit. Throws InputError for a value that the option does not accept, and for a key that is not an option of the
/// request's parts, with the nearest keys.
void read_inputs(Request& r, const json::Value& inputs, const std::string& where);

}  // namespace llmcalc
