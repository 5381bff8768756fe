#pragma once
/// Sets of layers in model files: "all", {"from": 3, "every": 1}, {"except": {"from": 5, "every": 6}} or a list of
/// indices from 0.

#include <string>

#include "calc/arch.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The schema of a pattern, at the key of a model file that has it.
json::Expected layer_pattern_schema();

/// Reads the set of layers that `pattern` describes in a model with `layers` layers. `where` names the file and the
/// key. Throws InputError if the pattern is invalid.
LayerSet read_layer_pattern(const json::Value& pattern, Count layers, const std::string& where);

/// The shortest of the four forms that describes `set`.
json::Value layer_pattern_json(const LayerSet& set, Count layers);

}  // namespace llmcalc
