#pragma once
/// Reads options of a request from JSON: the keys under "inputs" of every answer.

#include <optional>
#include <string>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// An input as the option's text; absent for a flag that is not given. Throws InputError for JSON that no option takes.
std::optional<std::string> input_text(const Option& o, const json::Value& v, const std::string& where);

/// The formats without the components for which the model has no weights. Returns other values unchanged.
json::Value present_components(json::Value formats, const Arch& arch);

/// Reads each input into the request as if it had been typed: quantities as numbers in base units or as text. Throws
/// InputError for a value that the option does not take, and for a key that is not an option of the request's parts,
/// with the nearest keys.
void read_inputs(Request& r, const json::Value& inputs, const std::string& where);

}  // namespace llmcalc
